"""Lists the devices of a Colab TPU.

Written for TensorFlow 1.12. In a Colab notebook with a TPU runtime:

    !python device_listing.py
"""

from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import json
import os
import sys

import tensorflow as tf


def main():
  if 'COLAB_TPU_ADDR' not in os.environ:
    sys.exit('Not connected to a TPU runtime: Runtime > Change runtime type > TPU')
  address = 'grpc://' + os.environ['COLAB_TPU_ADDR']
  print('TPU address is', address)

  with tf.Session(address) as session:
    devices = session.list_devices()
    topology = session.run(tf.contrib.tpu.initialize_system())
    session.run(tf.contrib.tpu.shutdown_system())

  print('Devices:')
  for device in devices:
    print('  {} {}'.format(device.device_type, device.name))
  cores = tf.contrib.tpu.Topology(serialized=topology).num_tpus_per_task
  print('{} TPU cores'.format(cores))
  if len(sys.argv) > 1:
    with open(sys.argv[1], 'w') as f:
      json.dump({'types': [device.device_type for device in devices], 'cores': cores}, f)


if __name__ == '__main__':
  main()
