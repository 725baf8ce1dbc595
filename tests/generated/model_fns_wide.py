"""Random model functions out of the operations of ``functions.py``, with loops over cells by ``raw_rnn``.

The programs are those of ``model_fns.py``, with cells, losses and optimizers of ``model_fns_rest.py`` as well.
"""

from __future__ import annotations

from unittest import mock

import functions
import model_fns as plain
import model_fns_rest as rest

import tpucompat.v1 as tf


def computed(m, kind):
    rows = functions.rows_of(kind)
    # Names of Keras's backend are drawn by the Keras models.
    name = m.one(*(row for row in rows if row not in BACKEND))
    m.note(name)
    return lambda x, _: rows[name](x)


BACKEND = ("learning_phase", "local_conv1d", "local_conv2d", "count_params")


def recurrent(m, kind):
    """A cell in tf.nn.raw_rnn, or in one layer after the other."""
    cell, way = m.one(plain.cell_of, rest.cell_of)(m), m.one("raw", "in turn")
    m.note(way)

    def apply(x, training):
        with tf.variable_scope(None, "recurrent"):
            if way == "raw":
                return raw(cell(training), x)
            outputs, state = tf.nn.dynamic_rnn(cell(training), x, dtype=tf.float32)
            with tf.variable_scope("second"):
                again, _ = tf.nn.dynamic_rnn(cell(training), x, initial_state=state)
            return tf.concat([outputs, again], -1)

    return apply


def raw(cell, x):
    """tf.nn.raw_rnn over every step."""
    steps, batch = x.shape.as_list()[1], x.shape.as_list()[0]
    rows = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(x, [1, 0, 2]))

    def loop_fn(time, output, state, loop_state):
        following = cell.zero_state(batch, tf.float32) if output is None else state
        finished = tf.fill([batch], False) | (time >= steps)
        given = tf.cond(
            time >= steps,
            lambda: tf.zeros_like(x[:, 0]),
            lambda: rows.read(tf.minimum(time, steps - 1)),
        )
        return finished, given, following, output, None

    outputs, _, _ = tf.nn.raw_rnn(cell, loop_fn)
    return tf.reshape(tf.transpose(outputs.stack(), [1, 0, 2]), [batch, steps, cell.output_size])


ANY = [*[computed] * 4, plain.dense]
TABLE = {
    "vector": ANY,
    "sequence": [*ANY, *[recurrent] * 4],
    "image": [*ANY, plain.convolved],
}


def optimizer_of(m):
    return m.one(plain_optimizer_of, rest.optimizer_of)(m)


def loss_of(m, labels):
    return m.one(plain_loss_of, rest.loss_of)(m, labels)


plain_optimizer_of, plain_loss_of = plain.optimizer_of, plain.loss_of


def train(seed, brief=False):
    """Makes the program of a seed and runs it, as ``model_fns.train``."""
    others = {"TABLE": TABLE, "optimizer_of": optimizer_of, "loss_of": loss_of}
    with mock.patch.multiple(plain, **others):
        return plain.train(seed, brief)
