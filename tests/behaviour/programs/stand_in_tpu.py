"""A machine with a TPU, as far as one process can tell; then runs a script through ``tpucompat run``.

    python stand_in_tpu.py SCRIPT [ARGUMENTS]

The cores are rehearsed ones, but tpucompat takes the way of a TPU VM: resolver, initialization, strategy.
The stand-in fails as a TPU does: when it is initialized a second time or shut down, which loses what is on it,
and when a Session places an operation on it.
"""

import dataclasses
import sys

CORES = 2
counts = {"initialized": 0}


def pretend() -> None:
    """Puts the TPU into this process."""
    from tpucompat.base import machine as environment

    found = environment.probe()
    versions = {name: v for name, v in found.versions.items() if name != "tensorflow-cpu"}
    versions["tensorflow-tpu"] = environment.environment().tensorflow
    made = dataclasses.replace(found, versions=versions, devices=("/dev/accel0",), libtpu=True)
    environment.probe = lambda: made
    here = environment.environment(refresh=True)
    assert here.has_tpu and not here.rehearsed_cores, here


def watch() -> None:
    """Replaces what TensorFlow does with a TPU."""
    import tensorflow as tf
    from tensorflow.python.client.session import BaseSession

    from tpucompat.tf import private, topology
    from tpucompat.engines import rehearsal

    def initialize(resolver):
        counts["initialized"] += 1
        if counts["initialized"] > 1:
            raise RuntimeError("the TPU is initialized a second time: what is on it is lost")
        return private.topology_class()(topology.serialized(CORES))

    def shut_down(resolver=None):
        raise RuntimeError("the TPU is shut down: what is on it is lost")

    original = tf.distribute.TPUStrategy

    class Kind(type(original)):
        """Makes rehearsed strategies, and recognises them."""

        def __call__(cls, resolver, experimental_device_assignment=None):
            if counts["initialized"] != 1:
                raise RuntimeError("a strategy over a TPU that is not initialized")
            given = experimental_device_assignment
            return rehearsal.strategy_over(CORES if given is None else given.num_replicas)

        def __instancecheck__(cls, instance):
            return isinstance(instance, original)

    class Strategy(original, metaclass=Kind):
        """What tf.distribute.TPUStrategy is called for."""

    class Resolver:
        """What tf.distribute.cluster_resolver.TPUClusterResolver is called for."""

        def __init__(self, tpu=None, **options):
            assert tpu == "local", tpu

    tf.distribute.cluster_resolver.TPUClusterResolver = Resolver
    tf.tpu.experimental.initialize_tpu_system = initialize
    tf.tpu.experimental.shutdown_tpu_system = shut_down
    tf.distribute.TPUStrategy = Strategy
    extend = BaseSession._extend_graph

    def extended(self):
        placed = [o.name for o in self.graph.get_operations() if "TPU" in o.device]
        if placed:
            raise RuntimeError(f"a Session places operations on the TPU: {placed[:5]}")
        extend(self)

    BaseSession._extend_graph = extended
    BaseSession._tpu_counts = counts  # for who asks at the end


if __name__ == "__main__":
    pretend()
    watch()
    from tpucompat.commands.cli import run

    sys.exit(run.main(["--quiet", *sys.argv[1:]]))
