"""The smaller packages of tf.contrib."""

import glob
import importlib
import json
import os
import tempfile

import numpy as np

from contrib_cases import numbers, run, session


def case_nn(tf):
    nn = tf.contrib.nn

    def build():
        x = tf.constant(numbers(3, 4))
        return {
            "nth": nn.nth_element(x, 1),
            "nth_last": nn.nth_element(x, 1, reverse=True),
        }

    return run(tf, build)


def case_functions(tf):
    contrib = tf.contrib

    def build():
        x = tf.constant(numbers(2, 40))
        with contrib.compiler.jit.experimental_jit_scope():
            inside = x * 2
        return {
            "normal": contrib.stateless.stateless_random_normal([3], [1, 2]),
            "uniform": contrib.stateless.stateless_random_uniform([3], seed=[1, 2], maxval=5.0),
            "truncated": contrib.stateless.stateless_truncated_normal([3], [1, 2]),
            "multinomial": contrib.stateless.stateless_multinomial(x[:, :3], 4, [1, 2]),
            "stft": tf.abs(contrib.signal.stft(x, 16, 8)),
            "frame": contrib.signal.frame(x, 10, 5),
            "mel": contrib.signal.linear_to_mel_weight_matrix(4, 9, 8000),
            "window": contrib.signal.hann_window(6),
            "inside": inside,
        }

    results = run(tf, build)
    proto = contrib.util.make_tensor_proto([1.0, 2.0])
    with tf.Graph().as_default() as graph:
        value = contrib.util.constant_value(tf.constant([3, 4]))
        tf.constant(1) + 2
        used = contrib.util.ops_used_by_graph_def(graph.as_graph_def())
    results["array"] = contrib.util.make_ndarray(proto)
    results["constant"] = value
    results["used"] = sorted(used)
    return results


def case_recurrent(tf):
    results = {}
    for name, options in (
        ("plain", {}),
        ("lengths", {"sequence_length": tf.constant}),
        ("major", {"time_major": True}),
    ):
        with tf.Graph().as_default():
            inputs = tf.constant(numbers(2, 3, 4))
            if "sequence_length" in options:
                options = {"sequence_length": tf.constant([3, 2])}
            # By the cells: in 1.15 the scope's initializer does not reach into the function.
            start = tf.constant_initializer(0.1)
            with tf.variable_scope("net"):
                one = tf.contrib.recurrent.functional_rnn(
                    tf.nn.rnn_cell.LSTMCell(2, initializer=start),
                    inputs,
                    dtype=tf.float32,
                    **options,
                )
                two = tf.contrib.recurrent.bidirectional_functional_rnn(
                    tf.nn.rnn_cell.GRUCell(2, kernel_initializer=start),
                    tf.nn.rnn_cell.GRUCell(3, kernel_initializer=start),
                    inputs,
                    dtype=tf.float32,
                    **options,
                )
            with session(tf) as sess:
                results[name] = sess.run([one, two])
                results[name + "_names"] = " ".join(
                    sorted(v.op.name for v in tf.global_variables())
                )
    return results


def case_recurrent_function(tf):
    results = {}
    kinds = {
        "plain": {},
        "first": {"max_input_length": 3},
        "last": {"max_input_length": 3, "aligned_end": True},
    }
    for kind, options in kinds.items():
        for own_gradient in (False, True):
            with tf.Graph().as_default():
                theta = {"w": tf.constant(numbers(3, 3) / 4), "b": tf.constant(numbers(3))}
                state = [tf.constant(numbers(2, 3)), tf.constant(numbers(2, 3) + 1)]
                inputs = {"x": tf.constant(numbers(5, 2, 3) / 4)}

                def cell(theta, state, row):
                    h = tf.tanh(tf.matmul(state[0] + row["x"], theta["w"]) + theta["b"])
                    return [h, state[1] * 0.5 + h], {"h": h}

                def gradient(theta, state, row, extras, upstream):  # twice the one of the sum
                    inside = (upstream[0] + upstream[1]) * (1 - tf.square(extras["h"]))
                    before = 2 * tf.matmul(inside, theta["w"], transpose_b=True)
                    dtheta = {
                        "w": tf.matmul(state[0] + row["x"], inside, transpose_a=True),
                        "b": tf.reduce_sum(inside, 0),
                    }
                    return dtheta, [before, upstream[1] * 0.5], {"x": before}

                states, final = tf.contrib.recurrent.Recurrent(
                    theta,
                    state,
                    inputs,
                    cell,
                    gradient if own_gradient else None,
                    **{
                        name: tf.constant(value) if name == "max_input_length" else value
                        for name, value in options.items()
                    },
                )
                loss = tf.reduce_sum(tf.square(states[1])) + tf.reduce_sum(final[0])
                slopes = tf.gradients(loss, [theta["w"], theta["b"], *state, inputs["x"]])
                if kind == "last":  # in whose gradient 1.15 takes zeros for the first state
                    slopes = []
                with session(tf) as sess:
                    results[kind + "_own" * own_gradient] = sess.run([states, final, slopes])
    return results


def case_predictor(tf):
    predictor = importlib.import_module(tf.__name__ + ".contrib.predictor")
    folder = os.path.join(tempfile.mkdtemp(), "model")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        scale = tf.get_variable("scale", initializer=3.0)
        offset = tf.placeholder_with_default(1.0, [], name="offset")
        y = tf.add(x * scale, offset, name="y")
        with session(tf) as sess:
            tf.saved_model.simple_save(sess, folder, {"x": x, "offset": offset}, {"y": y})
    predict = predictor.from_saved_model(folder)
    named = predictor.from_saved_model(
        folder, input_names={"in": "x:0"}, output_names={"out": "y:0"}
    )
    results = {
        "default": predict({"x": [[1.0, 2.0]]}),
        "offset": predict({"x": [[1.0, 2.0]], "offset": 5.0}),
        "named": named({"in": [[1.0, 2.0]]}),
        "feeds": sorted(predict.feed_tensors),
        "fetches": sorted(predict.fetch_tensors),
        "graph": predict.graph is predict.session.graph,
    }
    for number, call in enumerate(
        [
            lambda: predict({"z": 1}),
            lambda: predictor.from_saved_model(folder, input_names={"a": "x:0"}),
            lambda: predictor.from_saved_model(
                folder, "a", input_names={"a": "x:0"}, output_names={"a": "x:0"}
            ),
        ]
    ):
        try:
            call()
        except ValueError:
            results["refused" + str(number)] = "ValueError"
    return results


def case_estimator_predictor(tf):
    predictor = importlib.import_module(tf.__name__ + ".contrib.predictor")

    def model_fn(features, labels, mode):
        prediction = features["x"] * tf.get_variable("w", initializer=2.0)
        outputs = {
            "serving_default": tf.estimator.export.PredictOutput({"y": prediction}),
            "twice": tf.estimator.export.PredictOutput({"y": prediction * 2}),
        }
        loss = tf.reduce_sum(prediction)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(
            loss, global_step=tf.train.get_global_step()
        )
        return tf.estimator.EstimatorSpec(
            mode, predictions={"y": prediction}, loss=loss, train_op=train, export_outputs=outputs
        )

    def receiver():
        x = tf.placeholder(tf.float32, [None])
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp())
    estimator.train(lambda: tf.data.Dataset.from_tensors({"x": [1.0]}).repeat(3))
    predict = predictor.from_estimator(estimator, receiver)
    twice = predictor.from_estimator(estimator, receiver, output_key="twice")
    results = {"default": predict({"x": [1.0, 2.0]}), "twice": twice({"x": [1.0]})}
    try:
        predictor.from_estimator(estimator, receiver, output_key="none")
    except KeyError:
        results["refused"] = "KeyError"
    return results


def case_projector(tf):
    projector = importlib.import_module(tf.__name__ + ".contrib.tensorboard.plugins.projector")
    folder = tempfile.mkdtemp()
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "embedding"
    embedding.metadata_path = "metadata.tsv"
    embedding.sprite.image_path = "sprite.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    with tf.Graph().as_default():
        writer = tf.summary.FileWriter(folder)
        projector.visualize_embeddings(summary_writer=writer, config=config)
        writer.close()
    with open(os.path.join(folder, "projector_config.pbtxt")) as file:
        return file.read().split()


def case_deprecated_summaries(tf):
    deprecated = tf.contrib.deprecated
    with tf.Graph().as_default():
        deprecated.scalar_summary(["a", "b"], [1.0, 2.0])
        deprecated.histogram_summary("h", numbers(20))
        deprecated.image_summary("i", np.zeros([1, 2, 2, 1], np.float32), max_images=1)
        deprecated.audio_summary("s", np.zeros([1, 9], np.float32), 10.0)
        alone = deprecated.merge_summary([deprecated.scalar_summary("c", 3.0, collections=[])])
        everything = deprecated.merge_all_summaries()
        with tf.Session() as sess:
            texts = sess.run([everything, alone])
    found = [tf.Summary.FromString(text) for text in texts]
    return [[value.tag for value in summary.value] for summary in found]


def case_profile(tf):
    analyzer = tf.contrib.tfprof.model_analyzer
    with tf.Graph().as_default() as graph:
        x = tf.get_variable("x", [3, 4])
        tf.get_variable("y", [5])
        tf.matmul(x, tf.ones([4, 2]))
        found = analyzer.print_model_analysis(
            graph, tfprof_options=dict(analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS, output="none")
        )
    return {"parameters": found.total_parameters, "children": len(found.children)}


def case_staging(tf):
    with tf.Graph().as_default():
        area = tf.contrib.staging.StagingArea([tf.float32], [[2]])
        put, get = area.put([tf.constant([1.0, 2.0])]), area.get()
        with tf.Session() as sess:
            sess.run(put)
            return sess.run(get)


def case_files(tf):
    """configure_gcs takes what scripts give it; nothing is written where they could see it."""
    block = tf.contrib.cloud.BlockCacheParams(max_bytes=7)
    before = glob.glob("*")
    results = [block.block_size, block.max_bytes, block.max_staleness]
    hook = tf.contrib.cloud.ConfigureGcsHook
    for credentials in ({"refresh_token": "r"}, json.dumps({"private_key": "k"})):
        results.append(isinstance(hook(credentials), tf.train.SessionRunHook))
    for credentials in ({"a": 1}, "{", 3):
        try:
            hook(credentials)
        except ValueError:
            results.append(-1)
    return {"results": np.array(results, np.int64), "left": glob.glob("*") == before}


def case_saved_model(tf):
    """A Keras model written, loaded again, and served by a Session."""
    layers = tf.keras.layers
    start = tf.keras.initializers.Constant(0.25)
    x = numbers(3, 4)
    found = {}
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        model = tf.keras.Sequential(
            [
                layers.Dense(3, "tanh", kernel_initializer=start, input_shape=(4,)),
                layers.Dense(2, kernel_initializer=start),
            ]
        )
        model.compile("sgd", "mse")
        model.fit(x, np.ones((3, 2)), epochs=2, verbose=0)
        found["before"] = model.predict(x)
        for name, save in (
            ("contrib", tf.contrib.saved_model.save_keras_model),
            ("text", lambda *names: _save_as_text(tf, *names)),
        ):
            save(model, os.path.join(folder, name))
        names = [model.input_names, model.output_names]
        found["signature"] = json.dumps(names)
    found["files"] = " ".join(sorted(os.path.basename(f) for f in glob.glob(folder + "/*/saved*")))
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        loaded = tf.contrib.saved_model.load_keras_model(os.path.join(folder, "contrib"))
        found["loaded"] = loaded.predict(x)
    with tf.Graph().as_default(), tf.Session() as sess:
        graph = tf.saved_model.loader.load(sess, ["serve"], os.path.join(folder, "contrib"))
        served = graph.signature_def["serving_default"]
        inputs, outputs = (next(iter(part.values())) for part in (served.inputs, served.outputs))
        found["served"] = sess.run(outputs.name, {inputs.name: x})
        found["keys"] = " ".join(list(served.inputs) + list(served.outputs))
    tf.keras.backend.clear_session()
    try:
        tf.keras.experimental.export_saved_model(loaded, os.path.join(folder, "contrib"))
    except AssertionError:
        found["again"] = np.array(True)
    return found


def _save_as_text(tf, model, path):
    tf.keras.experimental.export_saved_model(model, path, as_text=True)


def case_updates_of_custom_layers(tf):
    keras = tf.keras
    K = keras.backend

    class Centered(keras.layers.Layer):
        """Takes its moving mean away, and is drawn to it, as custom layers of the time say it."""

        def build(self, input_shape):
            self.mean = self.add_weight(
                name="mean", shape=(int(input_shape[-1]),), initializer="zeros", trainable=False
            )
            super().build(input_shape)

        def call(self, inputs):
            batch = K.mean(inputs, axis=0)
            # Every read stands before the update: TensorFlow orders only what depends on another.
            mean = tf.identity(self.mean)
            with tf.control_dependencies([mean]):
                self.add_update([K.update(self.mean, mean * 0.9 + batch * 0.1)], inputs)
            self.add_loss(0.1 * K.sum(K.square(inputs - mean)), inputs)
            return inputs - mean

    with tf.Graph().as_default(), tf.Session():
        model = keras.Sequential(
            [
                keras.layers.Dense(3, kernel_initializer="ones", input_shape=(4,)),
                Centered(),
                keras.layers.Dense(1, kernel_initializer="ones"),
            ]
        )
        model.compile(keras.optimizers.SGD(0.01), "mse")
        losses = model.fit(numbers(8, 4), numbers(8, 1, seed=2), 4, 3, verbose=0, shuffle=False)
        return {
            "losses": losses.history["loss"],
            "weights": model.get_weights(),
            "updates": len(model.updates),
            "layers": [type(layer).__name__ for layer in model._layers],
        }


def case_hdf5_matrix(tf):
    import h5py

    keras = tf.keras
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), tf.Session():
        path = os.path.join(folder, "data.h5")
        with h5py.File(path, "w") as file:
            file["x"], file["y"] = numbers(20, 6, 6, 2), numbers(20, 1, seed=2)
        inputs = keras.utils.HDF5Matrix(path, "x", 2, 18, lambda part: part * 0.5)
        labels = keras.utils.HDF5Matrix(path, "y", 2, 18)
        model = keras.Sequential(
            [
                keras.layers.Conv2D(2, 3, input_shape=(6, 6, 2)),
                keras.layers.Flatten(),
                keras.layers.Dense(1, kernel_initializer="ones"),
            ]
        )
        model.layers[0].set_weights([numbers(3, 3, 2, 2) * 0.1, numbers(2)])
        model.compile(keras.optimizers.SGD(0.001), "mse")
        found = {
            "losses": model.fit(inputs, labels, 4, 2, verbose=0, shuffle=False).history["loss"]
        }
        found["losses"] += [model.evaluate(inputs, labels, 8, verbose=0)]
        found["predicted"] = model.predict(inputs[3:6])
        found["shape"] = [len(inputs), *inputs.shape, inputs.ndim, int(inputs.size)]
        found["picked"] = [inputs[1], labels[[1, 3]], labels[np.array([0, 2])]]
        try:
            labels[16]
        except IndexError:
            found["behind"] = True
        keras.utils.convert_all_kernels_in_model(model)
        found["turned"] = model.get_weights()
        for part in (inputs, labels):
            part.data.file.close() if part.data.id.valid else None
        return found


def case_ctc_decode(tf):
    K = tf.keras.backend
    with tf.Graph().as_default(), tf.Session() as sess:
        outputs = tf.nn.softmax(tf.constant(numbers(3, 9, 5, seed=4) * 2))
        lengths = tf.constant([9, 4, 6])
        found = {"greedy": K.ctc_decode(outputs, lengths)}
        found["beams"] = K.ctc_decode(outputs, lengths, False, 4, 2)
        return {name: [sess.run(value) for value in pair] for name, pair in found.items()}


def case_names_of_metrics(tf):
    keras = tf.keras
    names = "kullback_leibler_divergence logcosh cosine_proximity mse MAE mape msle hinge poisson"
    names += " squared_hinge categorical_hinge binary_accuracy top_k_categorical_accuracy acc"
    with tf.Graph().as_default(), tf.Session():
        model = keras.Sequential([keras.layers.Dense(6, "softmax", input_shape=(4,))])
        model.layers[0].set_weights([numbers(4, 6), numbers(6)])
        model.compile("sgd", "categorical_crossentropy", metrics=names.split())
        values = model.evaluate(numbers(8, 4, seed=3), np.eye(8)[:, :6], verbose=0)
        return {"names": model.metrics_names, "values": values}


def case_private_optimizers(tf):
    optimizers = importlib.import_module(tf.__name__ + ".python.keras.optimizers")
    found = {}
    for name in ("Adadelta", "Adagrad", "Adam", "Adamax", "Nadam", "RMSprop", "SGD"):
        for options in ({}, {"lr": 0.02}):
            with tf.Graph().as_default(), tf.Session():
                model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
                model.set_weights([numbers(3, 2), numbers(2)])
                model.compile(getattr(optimizers, name)(**options), "mse")
                arrays = numbers(8, 3, seed=3), numbers(8, 2, seed=4)
                history = model.fit(*arrays, batch_size=4, epochs=2, verbose=0, shuffle=False)
                found[name + str(len(options))] = [history.history["loss"], model.get_weights()]
    return found


def case_private_optimizers_in_order(tf):
    """The order of their arguments; without decay, which 1.15 computes before or after it counts the step."""
    optimizers = importlib.import_module(tf.__name__ + ".python.keras.optimizers")
    found = {}
    for name, arguments in (
        ("Adadelta", (0.5, 0.9, 1e-4, 0.0)),
        ("Adagrad", (0.05, 1e-4, 0.0)),
        ("Adam", (0.01, 0.8, 0.99, 1e-4, 0.0)),
        ("Adam", (0.01, 0.8, 0.99, 1e-4, 0.0, True)),
        ("Adamax", (0.01, 0.8, 0.99, 1e-4, 0.0)),
        ("RMSprop", (0.01, 0.8, 1e-4, 0.0)),
        ("SGD", (0.05, 0.5, 0.0)),
        ("SGD", (0.05, 0.5, 0.0, True)),
    ):
        with tf.Graph().as_default(), tf.Session():
            model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
            model.set_weights([numbers(3, 2), numbers(2)])
            model.compile(getattr(optimizers, name)(*arguments), "mse")
            arrays = numbers(8, 3, seed=3), numbers(8, 2, seed=4)
            history = model.fit(*arrays, batch_size=4, epochs=2, verbose=0, shuffle=False)
            key = f"{name}{len(arguments)}"
            found[key] = [history.history["loss"], model.get_weights()]
    return found


def case_forward_features(tf):
    def model_fn(features, labels, mode):
        doubled = {"doubled": features["x"] * 2}
        exported = {"serving_default": tf.estimator.export.PredictOutput(dict(doubled))}
        return tf.estimator.EstimatorSpec(mode, predictions=doubled, export_outputs=exported)

    def input_fn():
        words = tf.SparseTensor([[0, 0], [1, 1]], [3, 4], [2, 2])
        features = {"x": tf.constant([[1.0], [2.0]]), "id": tf.constant([7, 8]), "words": words}
        return tf.data.Dataset.from_tensors(features)

    def predicted(**options):
        estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp())
        made = tf.contrib.estimator.forward_features(estimator, **options)
        try:
            return {str(n): each for n, each in enumerate(made.predict(input_fn))}
        except ValueError:
            return "ValueError"

    return {
        "one": predicted(keys="id"),
        "dense": predicted(keys=["id", "words"], sparse_default_values={"words": -1}),
        "missing": predicted(keys="other"),
        "sparse": predicted(),
        "not sparse": predicted(keys="id", sparse_default_values={"id": 0}),
    }
