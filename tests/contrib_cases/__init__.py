"""The same calls of old symbols, made under the real TensorFlow 1.15 and under tpucompat.

Each module holds functions ``case_NAME(tf)`` for one area of the old namespace. ``tf`` is
TensorFlow 1.15 itself or ``tpucompat.v1``; a case builds its own graph with the inputs written in
it and returns a dictionary of results. ``tools/record_contrib_reference.py`` runs them all and
writes the results to a file; what TensorFlow 1.15 gave is ``tests/data/contrib_reference.npz``.

The modules are Python 3.6 and import NumPy only.
"""

import contextlib
import importlib
import json
import os
import pkgutil

import numpy as np


def run(tf, build, steps=1, feed=None):
    """Builds a graph by ``build()``, initializes it and runs what it returns; the last step's
    values.

    Args:
      tf: The TensorFlow under test.
      build: A function without arguments that returns a structure of tensors; where it returns
        ``(train_op, fetches)`` under the keys "train" and "fetch", the first runs ``steps`` times.
    """
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        made = build()
        with session(tf) as sess:
            if isinstance(made, dict) and "train" in made:
                for _ in range(steps):
                    sess.run(made["train"], feed)
                made = made["fetch"]
            return sess.run(made, feed)


@contextlib.contextmanager
def session(tf):
    """An initialized session on the default graph; one thread, for a repeatable order."""
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    with tf.Session(config=config) as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        sess.run(tf.tables_initializer())
        yield sess


#: Draws which way each input is moved by a unit of its last digit; None where they stay as they are.
units = None


def numbers(*shape, **options):
    """Repeatable float32 numbers of the given shape, roughly in (-2, 2)."""
    state = np.random.RandomState(options.get("seed", 1))
    values = (state.rand(*shape) * 4 - 2).astype(np.float32)
    if units is not None:
        values = np.nextafter(values, np.float32(np.inf) * units.choice([-1, 1], values.shape))
    return values.astype(np.float32)


def flat(prefix, value):
    """(key, array) for every leaf of a structure of dictionaries, sequences and arrays."""
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            for pair in flat(prefix + "/" + str(key), value[key]):
                yield pair
    elif isinstance(value, (list, tuple)):
        yield prefix + "/len", np.array(len(value))
        for index, entry in enumerate(value):
            for pair in flat(f"{prefix}/{index}", entry):
                yield pair
    else:
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        if array.dtype == object or array.dtype.kind == "S":
            array = np.array([as_text(entry) for entry in array.ravel()]).reshape(array.shape)
        yield prefix, array


def save(path, results, made=None):
    """Writes results compactly: all numbers of a kind in one array, the rest in an index.

    Args:
      path: Where to.
      results: Key -> array.
      made: What made them, as tools/provenance.py says it.
    """
    index, parts = {}, {"f": [], "i": []}
    for key in sorted(results):
        value = results[key]
        kind = "f" if value.dtype.kind == "f" else "i" if value.dtype.kind in "biu" else "U"
        index[key] = [str(value.dtype) if kind != "U" else "U", list(value.shape)]
        if kind == "U":
            index[key].append(value.ravel().tolist())
        else:
            parts[kind].append(value.ravel())
    np.savez_compressed(
        path,
        made=np.frombuffer(json.dumps(made or {}).encode(), np.uint8),
        index=np.frombuffer(json.dumps(index, sort_keys=True).encode(), np.uint8),
        f=np.concatenate(parts["f"] + [np.zeros(0)]).astype(np.float32),
        i=np.concatenate(parts["i"] + [np.zeros(0, np.int64)]).astype(np.int64),
    )


def load(path):
    """Reads what :func:`save` wrote: key -> array."""
    with np.load(path) as file:
        index = json.loads(file["index"].tobytes().decode())
        parts = {kind: file[kind] for kind in "fi"}
    results, offsets = {}, {"f": 0, "i": 0}
    for key in sorted(index):
        dtype, shape = index[key][:2]
        if dtype == "U":
            results[key] = np.array(index[key][2], dtype="U").reshape(shape)
            continue
        kind = "f" if dtype.startswith("float") else "i"
        size = int(np.prod(shape))
        values = parts[kind][offsets[kind] : offsets[kind] + size]
        results[key] = values.astype(dtype).reshape(shape)
        offsets[kind] += size
    return results


def as_text(value):
    """The text of a bytes or str value."""
    return value.decode() if isinstance(value, bytes) else str(value)


def cases(areas=()):
    """(area, name, function) of every case."""
    for info in sorted(pkgutil.iter_modules([os.path.dirname(__file__)]), key=lambda i: i.name):
        if areas and info.name not in areas:
            continue
        module = importlib.import_module(__name__ + "." + info.name)
        for name in sorted(vars(module)):
            if name.startswith("case_"):
                yield info.name, name[len("case_") :], getattr(module, name)
