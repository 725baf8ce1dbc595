"""Codes that no other test reads by their number: each is provoked here, and its advice read."""

import numpy as np
import pytest

import tpucompat.v1 as tf
from tpucompat import journal
from tpucompat.errors import TPUCompatError
from tpucompat.idioms import feeds
from tpucompat.idioms.tpu_estimator.errors import explained

tpu = tf.contrib.tpu


def sum_in_a_loop(x):
    total = lambda i, a: (i + 1, a + tpu.cross_replica_sum(x)[0, 0])
    return tf.while_loop(lambda i, a: a < x[0, 0], total, [0, 0.0])[1]


def grouped(groups):
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    crossed = tpu.CrossShardOptimizer(optimizer, group_assignment=groups)

    def step(x):
        loss = tf.reduce_sum(tf.get_variable("grouped", [], use_resource=True) * x)
        return loss, crossed.minimize(loss)

    return tpu.shard(step, [tf.zeros([4, 1])], num_shards=4)


@pytest.mark.parametrize(
    "code, call, advised",
    [
        ("TPU342", lambda: grouped([[0, 1], [2]]), "[[0, 1], [2, 3]]"),
        ("TPU346", lambda: tpu.rewrite(lambda: 1.0, [tf.zeros([2])]), "parameters"),
        ("TPU347", lambda: tpu.shard(lambda x: x, [tf.zeros([2])], num_shards=0), "num_shards"),
        ("TPU351", lambda: feeds.check_infeed_types([tf.int32, tf.string]), "Cast"),
    ],
)
def test_a_computation_that_is_refused(code, call, advised):
    with pytest.raises(TPUCompatError) as caught:
        call()
    assert caught.value.code == code
    assert advised in caught.value.next_step


#: What TPUEstimator's source raises (tensorflow_estimator 2.15.0, tpu/*.py) -> code, a word of the advice.
ESTIMATOR = {
    "train batch size 17 must be divisible by number of replicas 8": ("TPU329", "multiples"),
    "eval_batch_size in TPUEstimator constructor cannot be `None`": ("TPU329", "Pass integers"),
    "model_fn should return an EstimatorSpec.": ("TPU330", "TPUEstimatorSpec"),
    "estimator_spec used by TPU evaluation must have type`TPUEstimatorSpec`.": (
        "TPU330",
        "every mode",
    ),
    "host_call should be tuple or list. Got <class 'int'>": ("TPU331", "rank 1"),
    "TPUEstimatorSpec.predictions must be dict of Tensors.": ("TPU332", "dictionary"),
    "`input_fn` must return a Dataset": ("TPU333", "drop_remainder=True"),
    "one of `steps` or `max_steps` must be set for TPU training": ("TPU334", "max_steps"),
    "`config` must be provided with type `tpu_config.RunConfig`": ("TPU335", "argument"),
}


@pytest.mark.parametrize("text", ESTIMATOR)
def test_what_tpu_estimator_refuses_has_a_code(text):
    code, advised = ESTIMATOR[text]
    with pytest.raises(TPUCompatError) as caught, explained():
        raise ValueError(text)
    assert caught.value.code == code and isinstance(caught.value, ValueError)
    assert advised in caught.value.next_step


@pytest.mark.parametrize(
    "kind, text, code, advised",
    [
        ("OutOfRangeError", "End of sequence", "TPU336", ".repeat()"),
        (
            "NotFoundError",
            "Restoring from checkpoint failed. Key w not found",
            "TPU337",
            "model_dir",
        ),
        ("ResourceExhaustedError", "/m/ckpt; No space left on device", "TPU338", "free space"),
    ],
)
def test_errors_of_a_training_s_operations_have_a_code(kind, text, code, advised):
    error = getattr(tf.errors, kind)
    with pytest.raises(error) as caught, explained():
        raise error(None, None, text)
    first, *rest = caught.value.message.splitlines()
    assert first.startswith(code) and text in first
    assert advised in rest[0] and rest[-1].endswith(f"tpucompat explain {code}")


def test_a_condition_that_may_differ_between_the_shards_is_named():
    journal.reset()
    with tf.Graph().as_default():
        tpu.shard(sum_in_a_loop, [tf.constant(np.ones([2, 1], "float32"))], num_shards=2)
    assert "TPU344" in [code for code, _ in journal.notices()]
