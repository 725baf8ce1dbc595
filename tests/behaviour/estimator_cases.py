"""Programs with TPUEstimator, each a function that returns what it computed.

Run as a script in a process of its own, because the number of cores is fixed when TensorFlow
starts: ``python estimator_cases.py OUT.json [CASE ...]`` writes {case: result or {"error":
traceback}}. With PLAIN_TENSORFLOW=1 it runs on a real TensorFlow 1.15 without tpucompat, where
``use_tpu`` is False; ``towers`` is then what several cores compute, written by hand.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import tempfile
import threading
import traceback

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np

PLAIN = os.environ.get("PLAIN_TENSORFLOW") == "1"
if PLAIN:
    import tensorflow as tf

    CORES = 1
else:
    import tpucompat.v1 as tf
    from tpucompat.base import journal
    from tpucompat.engines import accelerator

    CORES = accelerator.cores()

tpu = tf.contrib.tpu
ModeKeys = tf.estimator.ModeKeys

_rng = np.random.RandomState(7)
X = _rng.rand(64, 6).astype("float32")
Y = (np.sin(X.sum(1, keepdims=True) * 2) + X[:, :1]).astype("float32")
STEPS, BATCH = 8, 16
WEIGHTS = ["hidden/kernel", "hidden/bias", "out/kernel", "out/bias"]


def weights(*shape, seed=0):
    return (np.random.RandomState(seed).rand(*shape) - 0.5).astype("float32")


def network(x):
    constant = tf.constant_initializer
    hidden = tf.layers.dense(
        x, 8, tf.nn.tanh, kernel_initializer=constant(weights(6, 8)), name="hidden"
    )
    return tf.layers.dense(hidden, 1, kernel_initializer=constant(weights(8, 1)), name="out")


def learning_rate(step):
    return tf.train.exponential_decay(0.05, step, 3, 0.5, staircase=True)


def clipped(gradients):
    return tf.clip_by_global_norm(gradients, 0.1)[0]


class AssigningOptimizer(tf.train.Optimizer):
    """Of BERT's kind: it assigns to variables of its own, and leaves the global step alone."""

    def __init__(self):
        super().__init__(False, "Own")

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        pairs = list(grads_and_vars)
        assignments = []
        # TensorFlow 1.15 lets an assignment race with the backward pass of the layer below.
        with tf.control_dependencies([gradient for gradient, _ in pairs] if PLAIN else []):
            for gradient, variable in pairs:
                m = tf.get_variable(
                    variable.op.name + "/own_m",
                    shape=variable.shape.as_list(),
                    trainable=False,
                    initializer=tf.zeros_initializer(),
                )
                next_m = 0.9 * m + 0.1 * gradient
                assignments += [variable.assign(variable - 0.1 * next_m), m.assign(next_m)]
        return tf.group(*assignments)


class Recorder:
    """Keeps what host_call gets: the loss of every core at every step."""

    def __init__(self):
        self.losses = []

    def host_call(self, loss):
        def keep(values):
            self.losses.append([float(value) for value in values])
            return np.int32(0)

        return (lambda values: [tf.py_func(keep, [values], tf.int32)]), [tf.reshape(loss, [1])]


def make_model_fn(recorder=None, seen=None, predictions_of=None, scaffold_fn=None):
    def model_fn(features, labels, mode, params):
        if seen is not None:
            context = params.get("context")
            seen.append(
                {
                    "mode": mode,
                    "batch_size": params.get("batch_size"),
                    "use_tpu": params["use_tpu"],
                    "replicas": context.num_replicas if context else None,
                    "shape": features["x"].shape.as_list(),
                }
            )
        output = network(features["x"])
        if mode == ModeKeys.PREDICT:
            predictions = (predictions_of or (lambda f, o: {"output": o}))(features, output)
            return tpu.TPUEstimatorSpec(
                mode,
                predictions=predictions,
                export_outputs={"serving_default": tf.estimator.export.PredictOutput(predictions)},
                scaffold_fn=scaffold_fn,
            )
        loss = tf.losses.mean_squared_error(labels, output)
        step = tf.train.get_global_step()
        optimizer = tf.train.AdamOptimizer(learning_rate(step))
        if params["use_tpu"]:
            optimizer = tpu.CrossShardOptimizer(optimizer)
        gradients, variables = zip(*optimizer.compute_gradients(loss))
        train_op = optimizer.apply_gradients(zip(clipped(gradients), variables), step)

        def metrics(labels, output):
            return {"error": tf.metrics.mean_absolute_error(labels, output)}

        return tpu.TPUEstimatorSpec(
            mode,
            loss=loss,
            train_op=train_op,
            eval_metrics=(metrics, {"labels": labels, "output": output}),
            host_call=recorder.host_call(loss) if recorder and mode == ModeKeys.TRAIN else None,
            scaffold_fn=scaffold_fn,
        )

    return model_fn


def input_fn(params, count=None, repeat=True, drop=True):
    dataset = tf.data.Dataset.from_tensor_slices(({"x": X[:count]}, Y[:count]))
    if repeat:
        dataset = dataset.repeat()
    return dataset.batch(params["batch_size"], drop_remainder=drop)


def predict_input_fn(params, count=21):
    return tf.data.Dataset.from_tensor_slices({"x": X[:count]}).batch(params["batch_size"])


def make_estimator(model_fn, model_dir=None, loop=2, config=None, tpu_config=None, **options):
    options.setdefault("use_tpu", not PLAIN)
    options.setdefault("train_batch_size", BATCH)
    options.setdefault("eval_batch_size", BATCH)
    options.setdefault("predict_batch_size", 8)
    return tpu.TPUEstimator(
        model_fn=model_fn,
        config=tpu.RunConfig(
            model_dir=model_dir or tempfile.mkdtemp(),
            **{"save_checkpoints_steps": 4, **(config or {})},
            tpu_config=tpu.TPUConfig(iterations_per_loop=loop, **(tpu_config or {})),
        ),
        **options,
    )


def values(estimator):
    names = [*WEIGHTS, "hidden/kernel/Adam_1", "global_step"]
    return {name: np.asarray(estimator.get_variable_value(name)).tolist() for name in names}


def plain(metrics):
    return {name: float(value) for name, value in metrics.items()}


def train_evaluate_predict():
    """The whole of it; compared with TensorFlow 1.15."""
    recorder = Recorder()
    estimator = make_estimator(make_model_fn(recorder))
    estimator.train(input_fn, steps=STEPS)
    return {
        "losses": recorder.losses,
        "weights": values(estimator),
        "metrics": plain(estimator.evaluate(input_fn, steps=3)),
        "predictions": [p["output"].tolist() for p in estimator.predict(predict_input_fn)],
    }


def towers(count, assigning=False):
    """What that many cores compute, in one graph by hand; for TensorFlow 1.15."""
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        optimizer = (
            AssigningOptimizer() if assigning else tf.train.AdamOptimizer(learning_rate(step))
        )
        batches = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(BATCH)
        x, y = tf.data.make_one_shot_iterator(batches).get_next()
        losses, gradients = [], []
        for part_x, part_y in zip(
            tf.split(tf.reshape(x, [BATCH, 6]), count), tf.split(tf.reshape(y, [BATCH, 1]), count)
        ):
            with tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE):
                loss = tf.losses.mean_squared_error(part_y, network(part_x))
            of_core = tf.gradients(loss / count, tf.trainable_variables())
            gradients.append(of_core if assigning else clipped(of_core))
            losses.append(loss)
        summed = [tf.add_n(list(one)) for one in zip(*gradients)]
        train_op = optimizer.apply_gradients(zip(summed, tf.trainable_variables()), step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            history = []
            for _ in range(STEPS):
                # Two runs: in one the losses could be those after the update.
                current = session.run([*losses, x, y])
                feeds = {x: current[-2], y: current[-1]}
                session.run(train_op, feeds)
                history.append([float(loss) for loss in current[:-2]])
            names = {variable.op.name: variable for variable in tf.global_variables()}
            final = {name: session.run(names[name]).tolist() for name in WEIGHTS}
    return {"losses": history, "weights": final}


def what_functions_are_told():
    """Batch sizes, shapes and context in every mode; partial batches at the end of a prediction."""
    seen, inputs = [], []

    def telling_input_fn(params):
        context = params["context"]
        inputs.append(
            [
                params["batch_size"],
                context.num_replicas,
                context.num_hosts,
                list(context.current_input_fn_deployment()[1:]),
            ]
        )
        return input_fn(params)

    result = {}
    for name, kind in [
        ("PER_HOST_V1", True),
        ("PER_HOST_V2", tpu.InputPipelineConfig.PER_HOST_V2),
        ("BROADCAST", tpu.InputPipelineConfig.BROADCAST),
    ]:
        del seen[:], inputs[:]
        estimator = make_estimator(
            make_model_fn(seen=seen), tpu_config={"per_host_input_for_training": kind}
        )
        estimator.train(telling_input_fn, steps=2)
        estimator.evaluate(telling_input_fn, steps=1)
        count = sum(1 for _ in estimator.predict(functools.partial(predict_input_fn, count=19)))
        result[name] = {"model_fn": list(seen), "input_fn": list(inputs), "predicted": count}
    return result


def tpu_that_was_asked_for():
    """The addresses and cores of a script's TPU, as it is told them."""
    address, assignments = "grpc://10.2.3.4:8470", []

    def model_fn(features, labels, mode, params):
        assignment = params["context"].device_assignment
        assignments.append(assignment and list(assignment.core_assignment.shape[:2]))
        return make_model_fn()(features, labels, mode, params)

    told = {}
    for cores in (None, 1, 2):
        config = tpu.RunConfig(
            master=address,
            model_dir=tempfile.mkdtemp(),
            tpu_config=tpu.TPUConfig(num_cores_per_replica=cores),
        )
        estimator = tpu.TPUEstimator(model_fn, config=config, train_batch_size=16)
        estimator.train(input_fn, steps=1)
    with estimator._ctx.with_mode(ModeKeys.TRAIN) as context:
        told["job"] = context.master_job
        told["host"] = context.tpu_host_placement_function(replica_id=0)
    told["addresses"] = [config.master, config.evaluation_master, estimator.config.master]
    told["assignments"] = assignments
    return told


def one_variable_for_each_core():
    """Kernels cut into a slice for each core, as Mesh TensorFlow lays them out; a core has the whole batch."""
    recorder, names, ops = Recorder(), ["one", "two"], tpu.python.ops.tpu_ops

    def model_fn(features, labels, mode, params):
        assert params["context"].device_assignment.num_replicas == CORES
        graph, x = tf.get_default_graph(), features["x"]
        sliced, handles, values = {}, [], []
        with tf.control_dependencies(None):
            parts = [
                np.split(weights(6, 2 * CORES), CORES, 1),
                [tf.constant(weights(2, 1))] * CORES,  # one tensor, as Mesh TensorFlow's zeros
            ]
        for name, starts in zip(names, parts):
            with tf.control_dependencies(None):
                sliced[name] = [
                    tf.get_variable(f"{name}_{core}", initializer=start)
                    for core, start in enumerate(starts)
                ]
            context = graph._get_control_flow_context()
            handles.append(context.get_replicated_var_handle(name, sliced[name]))
            values.append(tf.raw_ops.ReadVariableOp(resource=handles[-1], dtype=tf.float32))
            values[-1].set_shape(sliced[name][0].shape)
        with tf.control_dependencies(None):
            scale = ops.tpu_replicated_input([1 + core / CORES for core in range(CORES)])
        hidden = tf.matmul(x, values[0])
        output = ops.cross_replica_sum(scale * tf.matmul(hidden, values[1]))
        loss = tf.losses.mean_squared_error(labels, output)
        upstream = 0.005 * scale * (output - labels)
        gradients = [
            tf.matmul(x, tf.matmul(upstream, values[1], transpose_b=True), transpose_a=True),
            tf.matmul(hidden, upstream, transpose_a=True),
        ]
        with tf.control_dependencies(gradients):
            updates = [
                tf.raw_ops.AssignSubVariableOp(resource=handle, value=gradient)
                for handle, gradient in zip(handles, gradients)
            ]
        return tpu.TPUEstimatorSpec(
            mode,
            loss=loss,
            train_op=tf.group(*updates, tf.assign_add(tf.train.get_global_step(), 1)),
            host_call=recorder.host_call(loss) if mode == ModeKeys.TRAIN else None,
        )

    config = tpu.RunConfig(
        model_dir=tempfile.mkdtemp(),
        tpu_config=tpu.TPUConfig(
            iterations_per_loop=2,
            num_cores_per_replica=1,
            per_host_input_for_training=tpu.InputPipelineConfig.BROADCAST,
        ),
    )
    estimator = tpu.TPUEstimator(
        model_fn, config=config, train_batch_size=BATCH, eval_batch_size=BATCH
    )
    estimator.train(input_fn, steps=3)
    estimator.train(input_fn, steps=2)  # what each core had is read from the checkpoint
    return {
        "losses": recorder.losses,
        "slices": {
            name: [estimator.get_variable_value(f"{name}_{core}").tolist() for core in range(CORES)]
            for name in names
        },
    }


def inputs_of_all_kinds():
    """Datasets, pairs and single tensors, nested features; the losses tell the order of batches."""

    def pair(params):
        return tf.data.make_one_shot_iterator(input_fn(params)).get_next()

    result = {}
    cases = {
        "dataset": (input_fn, True),
        "dataset, each core": (input_fn, tpu.InputPipelineConfig.PER_HOST_V2),
        "pair": (pair, True),
        "pair for each core": (pair, False),
    }
    for name, (function, per_host) in cases.items():
        recorder = Recorder()
        estimator = make_estimator(
            make_model_fn(recorder), tpu_config={"per_host_input_for_training": per_host}
        )
        estimator.train(function, steps=4)
        result[name] = recorder.losses

    def nested(params):
        dataset = tf.data.Dataset.from_tensor_slices(
            {"a": (X, {"b": np.arange(64, dtype="int32")}), "c": Y}
        )
        return dataset.repeat().batch(params["batch_size"], drop_remainder=True)

    def model_fn(features, mode, params):
        x, inner = features["a"]
        recorded.append([features["c"].shape.as_list(), inner["b"].dtype.name])
        loss = tf.losses.mean_squared_error(features["c"], network(x))
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        if params["use_tpu"]:
            optimizer = tpu.CrossShardOptimizer(optimizer)
        return tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step())
        )

    recorded = []
    estimator = make_estimator(model_fn)
    estimator.train(nested, steps=2)
    result["nested"] = recorded
    return result


def another_batch_axis():
    """Batches whose last axis is the batch."""

    def transposed(params):
        def turn(features, labels):
            return {"x": tf.transpose(features["x"])}, labels

        return input_fn(params).map(turn)

    recorder = Recorder()
    inner = make_model_fn(recorder)

    def model_fn(features, labels, mode, params):
        # No transposition: TensorFlow 2.15 fuses it into the product, and fails ("Fusion is not
        # implemented: [BiasAdd,Tanh]"; without tpucompat too, and no longer in 2.16).
        return inner({"x": tf.stack(tf.unstack(features["x"]), 1)}, labels, mode, params)

    # The order of the flattened structure: features, labels.
    estimator = make_estimator(model_fn, batch_axis=[1, 0])
    estimator.train(transposed, steps=3)
    return {"losses": recorder.losses}


def hooks_and_checkpoints():
    """What hooks see, which steps are saved, and that a second call goes on."""
    steps, losses = [], []

    class Hook(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(tf.train.get_global_step())

        def after_run(self, run_context, run_values):
            # Read again, as TPUEstimator's hooks do: the first value may be that before the loop.
            steps.append(int(run_context.session.run(tf.train.get_global_step())))

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            kernel = next(v for v in tf.global_variables() if v.op.name == "out/kernel")
            losses.append([int(global_step_value), float(np.sum(session.run(kernel)))])

    model_dir = tempfile.mkdtemp()
    estimator = make_estimator(make_model_fn(), model_dir, loop=3)
    estimator.train(input_fn, steps=7, hooks=[Hook()], saving_listeners=[Listener()])
    first = sorted(n for n in os.listdir(model_dir) if n.endswith(".index"))
    again = make_estimator(make_model_fn(), model_dir, loop=3)
    again.train(input_fn, max_steps=9)
    again.train(input_fn, max_steps=9)  # nothing is left to do
    reader = tf.train.load_checkpoint(model_dir)
    return {
        "steps": steps,
        "first": first,
        "saved": [step for step, _ in losses],
        "sums differ": len({value for _, value in losses}) == len(losses),
        "last": int(reader.get_tensor("global_step")),
        "names": sorted(reader.get_variable_to_shape_map()),
    }


def scaffold_and_initial_values():
    """scaffold_fn with init_from_checkpoint, and warm_start_from."""
    source = make_estimator(make_model_fn())
    source.train(input_fn, steps=2)
    checkpoint = tf.train.latest_checkpoint(source.model_dir)

    def scaffold_fn():
        tf.train.init_from_checkpoint(checkpoint, {"hidden/": "hidden/"})
        return tf.train.Scaffold()

    first = Recorder()
    estimator = make_estimator(make_model_fn(first, scaffold_fn=scaffold_fn))
    estimator.train(input_fn, steps=1)
    warm = Recorder()
    estimator = make_estimator(make_model_fn(warm), warm_start_from=checkpoint)
    estimator.train(input_fn, steps=1)
    fresh = Recorder()
    make_estimator(make_model_fn(fresh)).train(input_fn, steps=1)
    return {"scaffold": first.losses, "warm": warm.losses, "fresh": fresh.losses}


def assigns_inside_the_replica():
    """An optimizer of BERT's kind, and the global step is assigned too."""

    recorder = Recorder()

    def model_fn(features, labels, mode, params):
        loss = tf.losses.mean_squared_error(labels, network(features["x"]))
        optimizer = AssigningOptimizer()
        if params["use_tpu"]:
            optimizer = tpu.CrossShardOptimizer(optimizer)
        variables = tf.trainable_variables()
        gradients = [g / CORES for g in tf.gradients(loss, variables)]
        step = tf.train.get_global_step()
        update = optimizer.apply_gradients(zip(gradients, variables), step)
        train_op = tf.group(update, [step.assign(step + 1)])
        return tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train_op, host_call=recorder.host_call(loss)
        )

    estimator = make_estimator(model_fn)
    estimator.train(input_fn, steps=STEPS)
    return {
        "losses": recorder.losses,
        "weights": {name: estimator.get_variable_value(name).tolist() for name in WEIGHTS},
        "step": int(estimator.get_variable_value("global_step")),
    }


def reads_the_step_that_it_writes():
    """A learning rate and an assignment of the global step with no order between them, as in BERT."""

    recorder, waiting = Recorder(), []

    class Hook(tf.train.SessionRunHook):
        def begin(self):
            graph = tf.get_default_graph()
            before = graph.get_operation_by_name("next_step").control_inputs
            waiting.append(any(op.type in ("ReadVariableOp", "Cast") for op in before))

    def step_of(features, labels):
        loss = tf.losses.mean_squared_error(labels, network(features["x"]))
        step = tf.train.get_global_step()
        rate = tf.train.polynomial_decay(0.8, step, 8, 0.0)
        optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(rate))
        train_op = tf.group(optimizer.minimize(loss), step.assign(step + 1, name="next_step").op)
        return {"loss": loss, "train_op": train_op}, rate

    def model_fn(features, labels, mode, params):
        made, rate = step_of(features, labels)
        # A Saver of the model's own writes the step too, when the second training starts.
        return tpu.TPUEstimatorSpec(
            mode,
            **made,
            host_call=recorder.host_call(rate),
            scaffold_fn=lambda: tf.train.Scaffold(saver=tf.train.Saver()),
        )

    def plain_model_fn(features, labels, mode, params):
        return tf.estimator.EstimatorSpec(mode, **step_of(features, labels)[0])

    estimator = make_estimator(model_fn)
    estimator.train(input_fn, steps=3, hooks=[Hook()])
    estimator.train(input_fn, steps=1)
    rates = list(recorder.losses)
    make_estimator(model_fn, use_tpu=False).train(input_fn, steps=1, hooks=[Hook()])
    plain_estimator = tf.estimator.Estimator(plain_model_fn, params={"batch_size": BATCH})
    plain_estimator.train(input_fn, steps=1, hooks=[Hook()])

    def reading_after(features, labels, mode, params):
        step = tf.train.get_global_step()
        with tf.control_dependencies([tf.assign_add(step, 1)]):
            later = tf.get_variable("later", [], tf.int64).assign(step + 2)
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_sum(labels), train_op=later)

    reader = tf.estimator.Estimator(reading_after, params={"batch_size": BATCH})
    reader.train(input_fn, steps=2)
    later = int(reader.get_variable_value("later"))
    return {"rates": rates, "waiting": waiting, "later": later}


def averages_of_recurrent_weights():
    """Averages after the update of weights that dynamic_rnn would cache: name -> start, end, average."""
    starts = {}

    def getter(getter, name, *args, **options):
        if options.get("trainable", True):
            shape = tf.TensorShape(options["shape"]).as_list()
            starts[name] = weights(*shape, seed=len(name)).tolist()
            options["initializer"] = tf.constant_initializer(starts[name])
        return getter(name, *args, **options)

    def model_fn(features, labels, mode, params):
        with tf.variable_scope("", custom_getter=getter):
            cells = [tf.nn.rnn_cell.BasicRNNCell(2), tf.nn.rnn_cell.GRUCell(2)]
            outputs, _ = tf.nn.dynamic_rnn(cells[0], features["x"][:, None, :], dtype=tf.float32)
            outputs, _ = tf.nn.static_rnn(cells[1], [outputs[:, 0]], dtype=tf.float32)
            logits = tf.layers.dense(outputs[0], 1)
        loss = tf.losses.mean_squared_error(labels, logits)
        optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.5))
        average = tf.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([optimizer.minimize(loss, tf.train.get_global_step())]):
            train_op = average.apply(tf.trainable_variables())
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

    estimator = make_estimator(model_fn, loop=1)
    estimator.train(input_fn, steps=1)
    read = estimator.get_variable_value
    return {
        name: [start, read(name).tolist(), read(f"{name}/ExponentialMovingAverage").tolist()]
        for name, start in starts.items()
    }


def exported(export_to_tpu=False):
    """export_saved_model, loaded back."""
    estimator = make_estimator(make_model_fn(), export_to_tpu=export_to_tpu)
    estimator.train(input_fn, steps=2)

    def receiver():
        x = tf.placeholder(tf.float32, [None, 6], name="x")
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    folder = estimator.export_saved_model(tempfile.mkdtemp(), receiver)
    with tf.Graph().as_default(), tf.Session() as session:
        tags = ["serve", "tpu"] if export_to_tpu else ["serve"]
        graph = tf.saved_model.loader.load(session, tags, folder)
        signature = graph.signature_def["serving_default"]
        served = session.run(signature.outputs["output"].name, {signature.inputs["x"].name: X[:5]})
    predicted = list(estimator.predict(functools.partial(predict_input_fn, count=5)))
    return {
        "served": served.tolist(),
        "predicted": [p["output"].tolist() for p in predicted],
    }


def left_in_the_middle():
    """A script that leaves the loop over its predictions; its threads end before the interpreter does."""
    from tpucompat.idioms.tpu_estimator import stopping

    def alive():
        return sum(thread.name.endswith("feedController") for thread in threading.enumerate())

    estimator = make_estimator(make_model_fn())
    estimator.train(input_fn, steps=2)
    before = alive()
    endless = estimator.predict(lambda params: predict_input_fn(params).repeat())
    next(endless)
    during = alive() - before
    stopping.end_controllers()
    after = alive() - before
    try:
        endless.close()
    except RuntimeError as error:  # the Session was closed under it
        assert "closed" in str(error), error
    return {"during": during, "after": after}


def exported_for_tpu():
    """The program of a TPU that is exported, loaded back where there is none."""
    result = exported(export_to_tpu=True)
    result["said"] = [] if PLAIN else [code for code, _ in journal.notices()]
    return result


def switched_off():
    """use_tpu=False and eval_on_tpu=False: the model function is told so."""
    seen = []
    recorder = Recorder()
    inner = make_model_fn(seen=seen)

    def model_fn(features, labels, mode, params):
        spec = inner(features, labels, mode, params)
        return spec._replace(host_call=recorder.host_call(spec.loss))

    off = make_estimator(model_fn, use_tpu=False)
    off.train(input_fn, steps=2)
    partly = make_estimator(make_model_fn(None, seen), eval_on_tpu=False)
    partly.train(input_fn, steps=1)
    metrics = plain(partly.evaluate(input_fn, steps=None if PLAIN else 1))
    return {"seen": seen, "losses": recorder.losses, "metrics": sorted(metrics)}


def train_and_evaluate():
    """tf.estimator.train_and_evaluate, which evaluates whenever a checkpoint is saved."""
    estimator = make_estimator(make_model_fn())
    metrics, _ = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn, max_steps=8),
        tf.estimator.EvalSpec(input_fn, steps=2, throttle_secs=0, start_delay_secs=0),
    )
    return plain(metrics)


def asynchronous_checkpoints():
    """AsyncCheckpointSaverHook: every checkpoint holds the values of one step."""
    model_dir = tempfile.mkdtemp()
    hook = tpu.AsyncCheckpointSaverHook(model_dir, save_steps=2)
    estimator = make_estimator(
        make_model_fn(),
        model_dir,
        config={"save_checkpoints_steps": None, "save_checkpoints_secs": None},
    )
    estimator.train(input_fn, steps=6, hooks=[hook])
    result = {}
    for path in tf.train.get_checkpoint_state(model_dir).all_model_checkpoint_paths:
        reader = tf.train.load_checkpoint(path)
        # Adam's beta1_power tells the step that the optimizer is at.
        power = reader.get_tensor("beta1_power")
        result[os.path.basename(path)] = [
            int(reader.get_tensor("global_step")),
            round(float(np.log(power) / np.log(0.9))) - 1,
        ]
    return result


def saver_elsewhere():
    """A CheckpointSaverHook that saves in another folder, and the steps that either has."""
    folders = [tempfile.mkdtemp(), tempfile.mkdtemp()]
    estimator = make_estimator(make_model_fn(), folders[0], loop=1)
    estimator.train(
        input_fn, steps=4, hooks=[tf.train.CheckpointSaverHook(folders[1], save_steps=2)]
    )
    names = [sorted(os.listdir(each)) for each in folders]  # a Saver that is shared lists all
    return {"steps": [[int(n[11:-6]) for n in each if n.endswith(".index")] for each in names]}


def summaries():
    """host_call's summaries of tf.contrib.summary, and TPUEstimator's own loss."""
    model_dir = tempfile.mkdtemp()

    def host_call(step, loss):
        writer = tf.contrib.summary.create_file_writer(model_dir)
        with writer.as_default(), tf.contrib.summary.always_record_summaries():
            tf.contrib.summary.scalar("own/loss", tf.reduce_mean(loss), step=step[0])
        return tf.contrib.summary.all_summary_ops()

    inner = make_model_fn()

    def model_fn(features, labels, mode, params):
        spec = inner(features, labels, mode, params)
        tf.summary.scalar("learning_rate", learning_rate(tf.train.get_global_step()))
        tf.summary.scalar("of_cores", tf.reduce_mean(features["x"]))
        tensors = [tf.reshape(tf.train.get_global_step(), [1]), tf.reshape(spec.loss, [1])]
        return spec._replace(host_call=(host_call, tensors))

    estimator = make_estimator(model_fn, model_dir, loop=1, config={"save_summary_steps": 2})
    estimator.train(input_fn, steps=4)
    found = {}
    for name in sorted(os.listdir(model_dir)):
        if "tfevents" in name:
            for event in tf.train.summary_iterator(os.path.join(model_dir, name)):
                for value in event.summary.value:
                    found.setdefault(value.tag, []).append(int(event.step))
    return {tag: sorted(set(steps)) for tag, steps in found.items()}


def bad_input():
    """What is refused: the type of the error, and its text."""
    result = {}

    def note(name, function):
        try:
            function()
            result[name] = None
        except Exception as error:
            kinds = [kind.__name__ for kind in type(error).__mro__]
            result[name] = [kinds, str(error)]

    def without_params(features, labels, mode):
        raise AssertionError

    def estimator_spec(features, labels, mode, params):
        loss = tf.losses.mean_squared_error(labels, network(features["x"]))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.no_op())

    def without_cross_shard(features, labels, mode, params):
        loss = tf.losses.mean_squared_error(labels, network(features["x"]))
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        step = tf.train.get_global_step()
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))

    def wrong_metrics(features, labels, mode, params):
        loss = tf.losses.mean_squared_error(labels, network(features["x"]))
        return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(lambda a, b: {}, [labels]))

    def scalar_host_call(features, labels, mode, params):
        spec = make_model_fn()(features, labels, mode, params)
        return spec._replace(host_call=(lambda loss: loss, [spec.loss]))

    def not_finite(features, labels, mode, params):
        variable = tf.get_variable("weight", [], initializer=tf.ones_initializer())
        loss = tf.log(-tf.square(variable)) * tf.reduce_mean(features["x"])
        optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        step = tf.train.get_global_step()
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))

    def not_finite_on_one_core(features, labels, mode, params):
        """The loss is NaN where the batch's last example is, the gradient nowhere."""
        variable = tf.get_variable("weight", [], initializer=tf.ones_initializer())
        last = tf.reduce_any(tf.reduce_all(tf.equal(features["x"], X[BATCH - 1]), axis=-1))
        loss = variable + tf.where(last, float("nan"), 0.0)
        optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        step = tf.train.get_global_step()
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))

    class Greedy(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(tf.get_collection(tf.GraphKeys.LOSSES)[0])

    good = make_model_fn()
    note("no config", lambda: tpu.TPUEstimator(good, train_batch_size=8))
    note("no batch size", lambda: make_estimator(good, train_batch_size=None))
    note("batch size", lambda: make_estimator(good, train_batch_size=1.5))
    note("reserved", lambda: make_estimator(good, params={"batch_size": 1}))
    note("uneven", lambda: make_estimator(good, train_batch_size=17).train(input_fn, steps=1))
    note("steps", lambda: make_estimator(good).train(input_fn))
    note("eval steps", lambda: make_estimator(good).evaluate(input_fn))
    note(
        "eval batch",
        lambda: make_estimator(good, eval_batch_size=None).evaluate(input_fn, steps=1),
    )
    note("model_fn without params", lambda: make_estimator(without_params).train(input_fn, steps=1))
    note("input_fn without params", lambda: make_estimator(good).train(lambda: None, steps=1))
    note(
        "no CrossShardOptimizer",
        lambda: make_estimator(without_cross_shard).train(input_fn, steps=1),
    )
    note("wrong metrics", lambda: make_estimator(wrong_metrics).evaluate(input_fn, steps=1))
    note("scalar", lambda: make_estimator(scalar_host_call).train(input_fn, steps=1))
    note(
        "no spec",
        lambda: make_estimator(lambda features, labels, mode, params: 3).train(input_fn, steps=1),
    )
    note("evaluation spec", lambda: make_estimator(estimator_spec).evaluate(input_fn, steps=1))
    note(
        "dynamic shape",
        lambda: make_estimator(good).train(functools.partial(input_fn, drop=False), steps=1),
    )
    note(
        "ends early",
        lambda: make_estimator(good).train(
            functools.partial(input_fn, count=20, repeat=False), steps=4
        ),
    )
    split = {
        "num_cores_per_replica": 2,
        "input_partition_dims": [{"x": [2, 2]}, None],
        "per_host_input_for_training": tpu.InputPipelineConfig.PER_HOST_V2,
    }
    note("partition", lambda: make_estimator(good, tpu_config=split).train(input_fn, steps=1))
    note("greedy hook", lambda: make_estimator(good).train(input_fn, steps=1, hooks=[Greedy()]))
    note("not finite", lambda: make_estimator(not_finite).train(input_fn, steps=1))
    one = not_finite_on_one_core
    note("not finite on one core", lambda: make_estimator(one).train(input_fn, steps=1))
    note(
        "predictions",
        lambda: list(
            make_estimator(make_model_fn(predictions_of=lambda f, o: {"mean": tf.reduce_mean(o)}))
            .train(input_fn, steps=1)
            .predict(predict_input_fn)
        ),
    )
    return result


CASES = [
    train_evaluate_predict,
    what_functions_are_told,
    tpu_that_was_asked_for,
    *([one_variable_for_each_core] if CORES > 1 else []),
    inputs_of_all_kinds,
    another_batch_axis,
    hooks_and_checkpoints,
    scaffold_and_initial_values,
    assigns_inside_the_replica,
    reads_the_step_that_it_writes,
    averages_of_recurrent_weights,
    exported,
    exported_for_tpu,
    left_in_the_middle,
    switched_off,
    train_and_evaluate,
    asynchronous_checkpoints,
    saver_elsewhere,
    summaries,
    bad_input,
]


def main(out, *names):
    tf.logging.set_verbosity(tf.logging.ERROR)
    results = {}
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        try:
            results[case.__name__] = case()
        except Exception:
            results[case.__name__] = {"error": traceback.format_exc()}
        print(case.__name__, flush=True)
    with open(out, "w") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
