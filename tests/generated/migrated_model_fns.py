"""The generated model functions, as they are and as ``tpucompat migrate`` rewrites them.

    python tests/generated/migrated_model_fns.py old SEED… > old.jsonl
    python tests/generated/migrated_model_fns.py new SEED… > new.jsonl

The text of ``model_fns.py`` is what is migrated: its model functions, optimizers, losses, input_fn and calls of
TPUEstimator. In both halves all initial values follow from the names, and nothing is dropped out, so that the
numbers have to be the same to rounding. Odd seeds have an optimizer as scripts wrote their own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
#: Makes its variables by name, one gradient after the other, and writes variables between them.
OWN_OPTIMIZER = """\
class OwnAdam(tf.train.Optimizer):
    def __init__(self, rate):
        super().__init__(False, "OwnAdam")
        self.rate = rate

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        writes = []
        for gradient, variable in grads_and_vars:
            if gradient is None:
                continue
            gradient = tf.convert_to_tensor(gradient)
            first, second = [
                tf.get_variable(
                    variable.op.name + slot, variable.shape.as_list(), trainable=False,
                    initializer=tf.zeros_initializer())
                for slot in ("/adam_m", "/adam_v")
            ]
            new_first = 0.9 * first + 0.1 * gradient
            new_second = 0.99 * second + 0.01 * tf.square(gradient)
            update = new_first / (tf.sqrt(new_second) + 1e-3) + 0.01 * variable
            writes += [first.assign(new_first), second.assign(new_second)]
            writes += [variable.assign(variable - 0.1 * self.rate * update)]
        with tf.control_dependencies(writes):
            return global_step.assign_add(1) if global_step is not None else tf.no_op()


def optimizer_of(m):
    return OwnAdam if m.seed % 2 else listed_optimizer_of(m)


"""


#: A loss with the name that the summary of it would have had: the tags say where it was given way to.
NAMED_LOSS = """\
loss = loss_fn(labels, outputs)
        if m.seed % 3 == 2:
            loss = tf.identity(loss, name="loss")
"""
TAGS = """\
def loss_tags(folder):
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if "tfevents" in name]
    events = [event for path in paths for event in tf.train.summary_iterator(path)]
    tags = {value.tag for event in events for value in event.summary.value}
    return sorted(tag for tag in tags if tag.startswith("loss"))


"""


def text_of() -> str:
    """The program, as a person would have written it for TensorFlow 1."""
    with open(os.path.join(HERE, "model_fns.py"), encoding="utf-8") as stream:
        text = stream.read()
    text = text.replace("import tpucompat.v1 as tf", "import tensorflow as tf")
    text = text.replace("named = m.often(0.5)", "named = m.often(0.5) or True")
    text = text.replace(' and options.get("initializer") is None', "")
    text = text.replace("loss = loss_fn(labels, outputs)\n", NAMED_LOSS)
    text = text.replace("import shutil\n", "import os\nimport shutil\n")
    text = text.replace("def train(seed", TAGS + "def train(seed")
    text = text.replace('"log": m.log, "apart"', '"tags": loss_tags(folder), "log": m.log, "apart"')
    text = text.replace("train, opt = tf.train, tf.contrib.opt", "train = tf.train")
    listed = "def listed_optimizer_of(m):"
    text = text.replace("def optimizer_of(m):", OWN_OPTIMIZER + listed)
    # Optimizers of tf.contrib.opt are with no package of today; they keep a script on tpucompat.v1.
    return re.sub(r'\n +"[\w ]+": (lambda rate: )?opt\..*', "", text)


def migrated(folder: str) -> None:
    """Writes the migrated program into a folder, with what it needs."""
    from tpucompat.commands.analysis import findings
    from tpucompat.commands.migrate import plan, tree

    path = os.path.join(folder, "generated_model_fns.py")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text_of())
    (result,) = tree.with_parts([plan.migrate(findings.analyse(path))])
    assert result.way == plan.LOOP and not result.todos, result.after.decode()
    for name, content in {"generated_model_fns.py": result.after, **result.beside}.items():
        with open(os.path.join(folder, name), "wb") as stream:
            stream.write(content)


def original(folder: str) -> None:
    """Writes the program for ``tpucompat.v1``."""
    text = text_of().replace("import tensorflow as tf", "import tpucompat.v1 as tf")
    with open(os.path.join(folder, "generated_model_fns.py"), "w", encoding="utf-8") as stream:
        stream.write(text)


def plain(value):
    """Arrays as lists."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def emulate(cores: int) -> None:
    """Gives the migrated program a strategy over logical devices in the place of a TPU's."""
    import tensorflow as tf
    import training_loop

    if os.environ.get("TPUCOMPAT_TRACEBACKS"):
        tf.debugging.disable_traceback_filtering()
    if cores > 1:
        devices = [tf.config.LogicalDeviceConfiguration()] * cores
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, devices)
        strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(cores)])
        default = training_loop.RunConfig.__new__.__defaults__
        training_loop.RunConfig.__new__.__defaults__ = (strategy, *default[1:])


def main() -> None:
    """Runs the seeds of the command line; TPUCOMPAT_CORES says on how many cores."""
    half, seeds = sys.argv[1], sys.argv[2:]
    sys.path.insert(0, HERE)
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        if half == "new":
            migrated(folder)
            os.environ["TF_USE_LEGACY_KERAS"] = "1"
            emulate(int(os.environ.pop("TPUCOMPAT_CORES", "1")))
        else:
            original(folder)
        program = importlib.import_module("generated_model_fns")
        program.Maker.rate = lambda self, kind: 0.0
        for seed in map(int, seeds):
            try:
                found = {"seed": seed, **plain(program.train(seed))}
            except Exception as error:
                if os.environ.get("TPUCOMPAT_TRACEBACKS"):
                    raise
                log = getattr(error, "log", [])
                found = {"seed": seed, "error": f"{type(error).__name__}: {error}", "log": log}
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
