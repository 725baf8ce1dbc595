"""What ``estimator.py`` compares TPUEstimator with, on the model of the pair bert_classifier.

    python -m tpucompat run benchmarks/direct_bert.py session --use_tpu=false FLAGS    a bare Session
    python benchmarks/direct_bert.py mirrored FLAGS                    a loop under MirroredStrategy

The flags are those of the examples; the times of the steps go to the file named by --report.
"""

from __future__ import annotations

import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORES = 8


def session() -> None:
    """Runs the training step of the legacy script's model function, without an Estimator."""
    import bert_classifier as legacy
    import tensorflow as tf

    flags = legacy.FLAGS
    flags(sys.argv)
    tf.enable_resource_variables()  # TPUEstimator's, so that the graphs are the same
    features, labels = tf.data.make_one_shot_iterator(
        legacy.make_input_fn(True)({"batch_size": flags.batch_size})
    ).get_next()
    tf.train.create_global_step()
    spec = legacy.model_fn(features, labels, "train", {"use_tpu": False})
    host, tensors = spec.host_call
    fetches = [spec.train_op, spec.loss, *host(*tensors)]
    with tf.Session() as running:
        running.run(tf.global_variables_initializer())
        for _ in range(flags.train_steps):
            running.run(fetches)
    with open(flags.report, "w") as stream:
        json.dump(legacy.RECORDED, stream)


def mirrored() -> None:
    """Runs the migrated script on eight logical devices of the CPU."""
    import bert_classifier as migrated
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * CORES
    )
    migrated.make_strategy = lambda: tf.distribute.MirroredStrategy(
        [f"/cpu:{core}" for core in range(CORES)],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )
    migrated.main()


if __name__ == "__main__":
    kind = sys.argv.pop(1)
    folder = {"session": "legacy_examples", "mirrored": "migrated_examples"}[kind]
    sys.path.insert(0, os.path.join(ROOT, folder))
    {"session": session, "mirrored": mirrored}[kind]()
