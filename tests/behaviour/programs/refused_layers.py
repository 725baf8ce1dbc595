"""What programs/refused_forms.py keeps in a module of its own: functions of a tensor that a TPU cannot run."""

import tensorflow as tf


def python(x):
    made = tf.py_func(lambda v: v * 2, [x], tf.float32)
    made.set_shape(x.shape)
    return x + made


def text(x):
    return x + tf.string_to_number(tf.as_string(x))


def printed(x):
    with tf.control_dependencies([tf.print('x is', x[0, 0])]):
        return tf.identity(x)


def looped(x):
    return tf.while_loop(lambda v: tf.reduce_sum(v) < 100.,
                         lambda v: tf.tanh(v) + v, [x])
