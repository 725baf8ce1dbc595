"""Trainings on several workers: python many_workers.py FOLDER OUT.json MAX_STEPS CASE...

Writes {case: {"losses": core 0's by step, "of_all": {step: every core's}, "metrics": ...}}. The data
are 22 examples in batches of 8, so that no epoch ends with a full batch. In the case "dies" a worker
that is not the chief kills itself after the first call.
"""

import json
import os
import signal
import sys
import zlib

import numpy as np
import tensorflow as tf

tpu = tf.contrib.tpu
folder, out, max_steps, *cases = sys.argv[1:]

rng = np.random.RandomState(3)
X = rng.rand(22, 5).astype("float32")
Y = np.sin(3 * X.sum(1, keepdims=True)).astype("float32")
CONFIGS = tpu.InputPipelineConfig
KINDS = {
    "batches": CONFIGS.PER_HOST_V2,
    "sharded": CONFIGS.PER_HOST_V2,
    "split": CONFIGS.PER_HOST_V1,
    "tensors": CONFIGS.PER_HOST_V1,
    "cores": CONFIGS.PER_SHARD_V1,
    "short": CONFIGS.PER_HOST_V2,
    "dies": CONFIGS.PER_HOST_V2,
}


def input_fn_of(case):
    def input_fn(params):
        dataset = tf.data.Dataset.from_tensor_slices((X, Y))
        context = params["context"]
        if case == "cores":
            _, index, count, _ = context.current_input_fn_deployment()
            dataset = dataset.shard(count, index)
        elif case != "sharded":
            dataset = dataset.shuffle(22)
        if case == "short":
            return dataset.batch(params["batch_size"], drop_remainder=True).repeat(2)
        dataset = dataset.apply(tf.contrib.data.batch_and_drop_remainder(params["batch_size"]))
        if case == "sharded":
            dataset = dataset.repeat().shard(context.num_hosts, context.current_host)
        dataset = dataset.repeat()
        if case in ("tensors", "cores"):
            return dataset.make_one_shot_iterator().get_next()
        return dataset

    return input_fn


def eval_input_fn(params):
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(params["batch_size"], True)


def predict_input_fn(params):
    return tf.data.Dataset.from_tensor_slices(X).batch(params["batch_size"])


class Losses(tf.train.SessionRunHook):
    """Records core 0's loss after each run."""

    def __init__(self, losses):
        self.losses = losses

    def before_run(self, run_context):
        del run_context
        graph = tf.get_default_graph()
        return tf.train.SessionRunArgs(graph.get_collection(tf.GraphKeys.LOSSES)[-1])

    def after_run(self, run_context, run_values):
        step = run_context.session.run(tf.train.get_global_step())
        self.losses[int(step)] = float(run_values.results)


class Dies(tf.train.SessionRunHook):
    """Ends the process as a machine ends that loses its power."""

    def after_run(self, run_context, run_values):
        del run_context, run_values
        os.kill(os.getpid(), signal.SIGKILL)


def run(case):
    losses, of_all = {}, {}

    def say(step, values):
        of_all[int(step[0])] = [float(value) for value in values]
        return np.int32(0)

    def model_fn(features, labels, mode, params):
        hidden = tf.layers.dense(features, 6, tf.nn.tanh, name="hidden")
        hidden = tf.layers.batch_normalization(
            hidden, training=mode == tf.estimator.ModeKeys.TRAIN, momentum=0.5
        )
        output = tf.layers.dense(hidden, 1, name="output")
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, predictions={"output": output})
        loss = tf.losses.mean_squared_error(labels, output)
        if mode == tf.estimator.ModeKeys.EVAL:
            # The cores meet, although nobody trains.
            of_all = tf.fill(labels.shape, tpu.cross_replica_sum(tf.reduce_max(output)))
            metrics = (
                lambda labels, output, of_all: {
                    "error": tf.metrics.mean_absolute_error(labels, output),
                    "of_all": tf.metrics.mean(of_all),
                },
                [labels, output, of_all],
            )
            return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=metrics)
        step = tf.train.get_global_step()
        optimizer = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.05))
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train_op = optimizer.minimize(loss, step)
        return tpu.TPUEstimatorSpec(
            mode,
            loss=loss,
            train_op=train_op,
            host_call=(
                lambda step, values: [tf.py_func(say, [step, values], tf.int32)],
                [tf.reshape(step, [1]), tf.reshape(loss, [1])],
            ),
        )

    estimator = tpu.TPUEstimator(
        model_fn=model_fn,
        use_tpu=True,
        train_batch_size=8,
        eval_batch_size=8,
        predict_batch_size=8,
        config=tpu.RunConfig(
            model_dir=os.path.join(folder, case),
            tf_random_seed=11,
            save_checkpoints_steps=2,
            tpu_config=tpu.TPUConfig(
                iterations_per_loop=2, per_host_input_for_training=KINDS[case]
            ),
        ),
    )
    result = {"losses": losses, "of_all": of_all}
    result["is_chief"] = estimator.config.is_chief
    hooks = [Losses(losses)]
    if case == "dies" and not estimator.config.is_chief:
        hooks.append(Dies())
    try:
        if case == "batches":  # goes on from the checkpoint
            estimator.train(input_fn_of(case), max_steps=int(max_steps) // 2, hooks=hooks)
        estimator.train(input_fn_of(case), max_steps=int(max_steps), hooks=hooks)
    except (tf.errors.OutOfRangeError, RuntimeError) as error:
        return {**result, "error": type(error).__name__, "text": str(error)}
    if case == "batches":
        metrics = estimator.evaluate(eval_input_fn, steps=2)
        result["metrics"] = {name: float(value) for name, value in metrics.items()}
        predictions = list(estimator.predict(predict_input_fn))
        result["predictions"] = [float(each["output"][0]) for each in predictions]
        # Nobody waits for a prediction that is left in the middle.
        next(estimator.predict(predict_input_fn))
    checkpoint = tf.train.load_checkpoint(estimator.model_dir)
    result["saved"] = {
        name: zlib.crc32(checkpoint.get_tensor(name).tobytes())
        for name in sorted(checkpoint.get_variable_to_shape_map())
    }
    return result


results = {}
for case in cases:
    results[case] = run(case)
    with open(out, "w") as file:
        json.dump(results, file)
