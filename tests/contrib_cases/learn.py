"""tf.contrib.learn.datasets, tensorflow.examples.tutorials.mnist and tf.contrib.legacy_seq2seq."""

import gzip
import importlib
import os
import struct
import tempfile

import numpy as np

from contrib_cases import numbers, session


def _idx(path, array):
    header = struct.pack(">I", 0x800 + array.ndim) + struct.pack(
        ">" + "I" * array.ndim, *array.shape
    )
    with gzip.open(path, "wb") as file:
        file.write(header + array.tobytes())


def _folder():
    folder = tempfile.mkdtemp()
    state = np.random.RandomState(0)
    for name, count in (("train", 13), ("t10k", 4)):
        images = state.randint(0, 256, [count, 3, 2]).astype(np.uint8)
        labels = state.randint(0, 10, [count]).astype(np.uint8)
        _idx(os.path.join(folder, name + "-images-idx3-ubyte.gz"), images)
        _idx(os.path.join(folder, name + "-labels-idx1-ubyte.gz"), labels)
    return folder


def case_mnist(tf):
    folder, results = _folder(), {}
    tutorial = importlib.import_module(tf.__name__ + ".examples.tutorials.mnist.input_data")
    private = importlib.import_module(tf.__name__ + ".contrib.learn.python.learn.datasets.mnist")
    for name, read, options in (
        ("plain", tutorial.read_data_sets, {"seed": 3}),
        ("one_hot", private.read_data_sets, {"one_hot": True, "seed": 1, "reshape": False}),
        ("bytes", tutorial.read_data_sets, {"dtype": tf.uint8, "seed": 2}),
    ):
        with tf.Graph().as_default():
            data = read(folder, validation_size=3, **options)
            results[name] = {
                "sizes": [part.num_examples for part in data],
                "batches": [data.train.next_batch(4) for _ in range(6)],
                "in_order": data.test.next_batch(3, shuffle=False),
                "epochs": data.train.epochs_completed,
                "validation": [data.validation.images, data.validation.labels],
            }
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        data = tutorial.read_data_sets(folder, validation_size=0)
        results["graph_seed"] = data.train.next_batch(5)
        fake = private.read_data_sets(folder, fake_data=True, one_hot=True)
        results["fake"] = fake.train.next_batch(2, fake_data=True)
    try:
        private.read_data_sets(folder, validation_size=14)
    except ValueError:
        results["refused"] = "ValueError"
    return results


def case_tables(tf):
    base = importlib.import_module(tf.__name__ + ".contrib.learn.python.learn.datasets.base")
    path = os.path.join(tempfile.mkdtemp(), "table.csv")
    with open(path, "w") as file:
        file.write("2,3,a,b\n1.5,2,3,0\n4,5.5,6,1\n")
    loaded = base.load_csv_with_header(path, target_dtype=np.int64, features_dtype=np.float32)
    return {"data": loaded.data, "target": loaded.target}


def case_legacy_seq2seq(tf):
    package = tf.contrib.legacy_seq2seq

    def run(build):
        with tf.Graph().as_default():
            steps = [tf.constant(numbers(2, 3, seed=seed)) for seed in range(4)]
            with tf.variable_scope("net", initializer=tf.constant_initializer(0.1)):
                made = build(steps)
            with session(tf) as sess:
                names = sorted(v.op.name for v in tf.global_variables())
                return {"values": sess.run(made), "names": " ".join(names)}

    def decoder(steps):
        cell = tf.nn.rnn_cell.LSTMCell(3)
        return package.rnn_decoder(steps, cell.zero_state(2, tf.float32), cell)

    def looped(steps):
        cell = tf.nn.rnn_cell.LSTMCell(3)
        return package.rnn_decoder(
            steps,
            cell.zero_state(2, tf.float32),
            cell,
            loop_function=lambda previous, number: previous * number,
            scope="own",
        )

    def losses(steps):
        targets = [tf.constant([0, 2]), tf.constant([[1], [1]]), tf.constant([2, 2])]
        weights = [tf.constant([1.0, 0.5]), tf.constant([1.0, 0.0]), tf.constant([0.0, 0.0])]
        arguments = (steps[:3], targets, weights)
        return [
            package.sequence_loss_by_example(*arguments),
            package.sequence_loss_by_example(*arguments, average_across_timesteps=False),
            package.sequence_loss(*arguments),
            package.sequence_loss(*arguments, average_across_batch=False),
            package.sequence_loss(
                *arguments, softmax_loss_function=lambda labels, logits: tf.reduce_sum(logits, 1)
            ),
        ]

    return {
        "decoder": run(decoder),
        "looped": run(looped),
        "basic": run(
            lambda steps: package.basic_rnn_seq2seq(steps[:2], steps, tf.nn.rnn_cell.GRUCell(3))
        ),
        "tied": run(
            lambda steps: package.tied_rnn_seq2seq(steps[:2], steps, tf.nn.rnn_cell.GRUCell(3))
        ),
        "losses": run(losses),
    }
