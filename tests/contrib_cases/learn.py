"""tf.contrib.learn, tensorflow.examples.tutorials.mnist and tf.contrib.legacy_seq2seq."""

import gzip
import importlib
import json
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


def case_unrolled_models(tf):
    """Models of symbols in tf.contrib.legacy_seq2seq: outputs, state, gradients and names."""
    package = tf.contrib.legacy_seq2seq
    symbols = [tf.int32, [2]]

    def filled(shape, dtype=None, partition_info=None):
        return tf.constant(numbers(*[int(d) for d in shape], seed=sum(map(int, shape))) * 0.4)

    def run(build):
        with tf.Graph().as_default():
            given = [tf.constant([step % 4, (2 * step + 1) % 4], *symbols) for step in range(4)]
            fed = tf.placeholder(tf.bool, [])
            with tf.variable_scope("net", initializer=filled):
                made = build(given[:2], given[1:], fed)
            flat = tf.contrib.framework.nest.flatten(made)
            flat = [each for each in flat if each is not None]
            loss = tf.add_n([tf.reduce_sum((t + t * t) / (n + 9.0)) for n, t in enumerate(flat)])
            variables = tf.trainable_variables()
            gradients = tf.gradients(loss, variables)
            # Biases of zero hide mistakes.
            move = [v.assign_add(numbers(*v.shape.as_list()) * 0.2) for v in variables]
            with session(tf) as sess:
                sess.run(move)
                results = {
                    str(number): sess.run(
                        [flat, [tf.convert_to_tensor(g) for g in gradients if g is not None]],
                        {fed: feed},
                    )
                    for number, feed in enumerate((True, False))
                }
            results["names"] = " ".join(v.op.name + str(v.shape.as_list()) for v in variables)
            results["unused"] = [int(g is None) for g in gradients]
            return results

    def lstm():
        return tf.nn.rnn_cell.LSTMCell(3)

    def projection():
        return (tf.get_variable("w", [3, 5]), tf.get_variable("b", [5]))

    def states():
        return tf.constant(numbers(2, 4, 6))

    def attention(**options):
        def build(encoder, decoder, fed):
            inputs = [tf.constant(numbers(2, 3, seed=seed)) for seed in range(3)]
            cell = lstm()
            return package.attention_decoder(
                inputs, cell.zero_state(2, tf.float32), states(), cell, **options
            )

        return run(build)

    def buckets(encoder, decoder, fed):
        def model(x, y):
            return package.embedding_attention_seq2seq(x, y, tf.nn.rnn_cell.GRUCell(3), 4, 5, 2)

        weights = [tf.constant([1.0, 0.5])] * 3
        return package.model_with_buckets(
            encoder, decoder, decoder, weights, [(1, 2), (2, 3)], model
        )

    def each_bucket(encoder, decoder, fed):
        def model(x, y):
            return package.basic_rnn_seq2seq(
                [tf.one_hot(each, 4) for each in x],
                [tf.one_hot(each, 4) for each in y],
                tf.nn.rnn_cell.GRUCell(4),
            )

        weights = [tf.constant([1.0, 0.5])] * 3
        return package.model_with_buckets(
            encoder, decoder, decoder, weights, [(1, 2), (2, 3)], model, per_example_loss=True
        )

    def several(encoder, decoder, fed):
        return package.one2many_rnn_seq2seq(
            encoder,
            {"one": decoder, "two": decoder[:2]},
            lstm(),
            {"one": lstm(), "two": lstm()},
            4,
            {"one": 5, "two": 4},
            2,
            feed_previous=fed,
        )

    def plain(function, *sizes, **options):
        """With symbols fed back or not, by a bool or a tensor, with a projection or not."""

        def build(number):
            def build(encoder, decoder, fed):
                more = dict(options)
                if number == 2:
                    more["output_projection"] = projection()
                return function(
                    encoder,
                    decoder,
                    lstm(),
                    *sizes,
                    feed_previous=(False, fed, True)[number],
                    **more,
                )

            return build

        return {str(number): run(build(number)) for number in range(3)}

    def decoder_alone(encoder, decoder, fed):
        cell = lstm()
        return package.embedding_rnn_decoder(
            decoder,
            cell.zero_state(2, tf.float32),
            cell,
            5,
            2,
            output_projection=projection(),
            feed_previous=True,
            update_embedding_for_previous=False,
        )

    def attended_alone(encoder, decoder, fed):
        cell = lstm()
        return package.embedding_attention_decoder(
            decoder,
            cell.zero_state(2, tf.float32),
            states(),
            cell,
            5,
            2,
            num_heads=2,
            output_projection=projection(),
            feed_previous=True,
            initial_state_attention=True,
        )

    return {
        "attention": attention(),
        "heads": attention(num_heads=2, output_size=4, initial_state_attention=True),
        "looped": attention(loop_function=lambda previous, number: previous * number),
        "embedded": plain(package.embedding_rnn_seq2seq, 4, 5, 2),
        "tied": plain(package.embedding_tied_rnn_seq2seq, 5, 3),
        "attended": plain(package.embedding_attention_seq2seq, 4, 5, 2, num_heads=2),
        "decoder": run(decoder_alone),
        "attention_decoder": run(attended_alone),
        "buckets": run(buckets),
        "each_bucket": run(each_bucket),
        "several": run(several),
    }


def case_preprocessing(tf):
    preprocessing = tf.contrib.learn.preprocessing
    texts = ["the TPU the iPad", "don't the well-known TPU", "", "Ärger ABCd the the the x"]
    results = {}
    for name, options in (
        ("all", {}),
        ("frequent", {"min_frequency": 1}),
        ("split", {"tokenizer_fn": lambda texts: (text.split(" ") for text in texts)}),
    ):
        words = preprocessing.VocabularyProcessor(4, **options)
        results[name] = list(words.fit_transform(texts))
        results[name + "_later"] = list(words.transform(["a TPU the", "the x the x the"]))
        results[name + "_reversed"] = "|".join(words.reverse(results[name]))
        results[name + "_size"] = len(words.vocabulary_)
    path = os.path.join(tempfile.mkdtemp(), "words")
    words = preprocessing.VocabularyProcessor(3)
    words.fit(texts)
    words.save(path)
    again = preprocessing.VocabularyProcessor.restore(path)
    results["restored"] = list(again.transform(texts))
    data = preprocessing.ByteProcessor(5)
    results["bytes"] = list(data.fit_transform(["TPU", "Ärgerlich", b"raw"]))
    results["bytes_reversed"] = "|".join(data.reverse(results["bytes"]))
    rows = [["a", "x"], ["b", "x"], ["a", float("nan")], ["c", "y"], ["a", "b"]]
    for name, options in (
        ("own", {}),
        ("shared", {"share": True}),
        ("often", {"min_frequency": 1}),
    ):
        columns = preprocessing.CategoricalProcessor(**options)
        results["categories_" + name] = list(columns.fit_transform(rows))
    vocabulary = preprocessing.CategoricalVocabulary(support_reverse=False)
    for word, count in (("a", 3), ("b", 9), ("c", 1), ("d", 3)):
        vocabulary.add(word, count)
    vocabulary.trim(1, max_frequency=9)
    results["trimmed"] = [vocabulary.get(word) for word in "abcd"]
    try:
        vocabulary.reverse(1)
    except ValueError:
        results["refused"] = "ValueError"
    return results


def case_run_config(tf):
    results = {}
    cluster = {"master": ["a:1"], "worker": ["b:1", "b:2"], "ps": ["c:1"]}
    for name, environment in (
        ("alone", {}),
        ("worker", {"cluster": cluster, "task": {"type": "worker", "index": 1}}),
        ("first", {"cluster": cluster, "task": {"type": "worker", "index": 0}}),
        (
            "master",
            {"cluster": cluster, "task": {"type": "master", "index": 0}, "environment": "cloud"},
        ),
    ):
        os.environ["TF_CONFIG"] = json.dumps(environment)
        try:
            config = tf.contrib.learn.RunConfig(model_dir="there", save_checkpoints_steps=7)
            told = (config.master, config.task_type, config.task_id, config.is_chief)
            told += (config.num_ps_replicas, config.num_worker_replicas, config.environment)
            told += (config.save_checkpoints_secs, config.save_checkpoints_steps)
            results[name] = " ".join(map(str, told))
            same = tf.contrib.learn.RunConfig(model_dir="there", keep_checkpoint_max=2)
            other = tf.contrib.learn.RunConfig(model_dir="here")
            uids = [each.uid() for each in (config, same, other)]
            results[name + "_same"] = [uids[0] == uids[1], uids[0] == uids[2]]
        finally:
            del os.environ["TF_CONFIG"]
    return results


def case_experiment(tf):
    learn = tf.contrib.learn

    def model_fn(features, labels, mode, params, config):
        weights = tf.get_variable("weights", [3, 1], initializer=tf.ones_initializer())
        outputs = tf.matmul(features["x"], weights)
        predictions = {"outputs": outputs}
        if mode == learn.ModeKeys.INFER or labels is None:
            exports = {"serving_default": tf.estimator.export.PredictOutput(predictions)}
            return tf.estimator.EstimatorSpec("infer", predictions, export_outputs=exports)
        loss = tf.reduce_mean(tf.square(outputs - labels))
        optimizer = tf.train.GradientDescentOptimizer(params.rate)
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        metrics = {"error": tf.metrics.mean_absolute_error(labels, outputs)}
        return tf.estimator.EstimatorSpec(mode, predictions, loss, train_op, metrics)

    def input_fn(seed):
        return lambda: ({"x": tf.constant(numbers(5, 3, seed=seed))}, tf.ones([5, 1]))

    def serving():
        fed = {"x": tf.placeholder(tf.float32, [None, 3])}
        return tf.estimator.export.ServingInputReceiver(fed, fed)

    def experiment_of(estimator, **options):
        strategy = learn.make_export_strategy(serving, exports_to_keep=1)
        return learn.Experiment(
            estimator,
            input_fn(1),
            input_fn(2),
            train_steps=12,
            eval_steps=2,
            eval_delay_secs=0,
            export_strategies=[strategy],
            **options,
        )

    def experiment_fn(run_config, hparams):
        estimator = tf.estimator.Estimator(model_fn, config=run_config, params=hparams)
        return experiment_of(estimator)

    def told(metrics):
        return [float(metrics[name]) for name in sorted(metrics)]

    folder = tempfile.mkdtemp()
    config = learn.RunConfig(model_dir=folder, tf_random_seed=3, save_checkpoints_steps=4)
    hparams = tf.contrib.training.HParams(rate=0.1)
    run = learn.learn_runner.run
    metrics, exports = run(experiment_fn, run_config=config, hparams=hparams)
    results = {"metrics": told(metrics), "exports": len(exports)}
    results["folder"] = "export" in os.listdir(folder)
    results["again"] = told(
        run(experiment_fn, run_config=config, schedule="evaluate", hparams=hparams)
    )
    for name, options, schedule in (
        ("by_turns", {"train_steps_per_iteration": 5}, "continuous_train_and_eval"),
        ("each", {"checkpoint_and_export": True}, "train_and_evaluate"),
        ("tested", {}, "test"),
    ):
        config = learn.RunConfig(model_dir=tempfile.mkdtemp(), save_checkpoints_steps=4)
        estimator = tf.estimator.Estimator(model_fn, config=config, params=hparams)
        done = getattr(experiment_of(estimator, **options), schedule)()
        results[name] = told(done[0] if isinstance(done, tuple) else done)
    refused = []
    for arguments in (
        {"output_dir": folder, "run_config": config},
        {},
        {"output_dir": folder, "hparams": hparams},
        {"run_config": tf.estimator.RunConfig(model_dir=folder)},
        {"run_config": learn.RunConfig()},
        {"run_config": config, "hparams": hparams, "schedule": "nothing"},
        {"run_config": config, "hparams": hparams, "schedule": "train_steps"},
    ):
        try:
            run(experiment_fn, **arguments)
        except (ValueError, TypeError, RuntimeError) as error:
            refused += [
                kind.__name__
                for kind in (ValueError, TypeError, RuntimeError)
                if isinstance(error, kind)
            ]
    results["refused"] = " ".join(refused)
    return results


def case_monitors(tf):
    monitors = tf.contrib.learn.monitors

    class Steps(monitors.EveryN):
        """Writes down what it is told."""

        def __init__(self, **options):
            monitors.EveryN.__init__(self, **options)
            self.told = []

        def every_n_step_begin(self, step):
            return ["doubled"]

        def every_n_step_end(self, step, outputs):
            self.told.append([float(step), float(outputs["doubled"])])
            return False

        def every_n_post_step(self, step, session):
            self.told.append([float(step), -1.0])

    def model_fn(features, labels, mode):
        weight = tf.get_variable("weight", initializer=1.0)
        doubled = tf.multiply(weight, 2.0, name="doubled")
        loss = tf.square(weight - 0.3)
        step = tf.train.get_global_step()
        with tf.control_dependencies([doubled]):
            train_op = tf.train.GradientDescentOptimizer(0.7).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    def input_fn():
        return {"x": tf.zeros([2])}, tf.zeros([2])

    def trained(wanted, steps=9):
        config = tf.estimator.RunConfig(save_checkpoints_steps=2)
        estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp(), config)
        hooks = monitors.replace_monitors_with_hooks(wanted, estimator)
        estimator.train(input_fn, hooks=hooks, steps=steps)
        return [len(hooks), estimator.get_variable_value("global_step")]

    steps = Steps(every_n_steps=4, first_n_steps=2)
    results = {"steps": trained([steps, tf.train.StepCounterHook()]), "told": steps.told}
    results["stopped"] = trained([monitors.StopAtStep(num_steps=3)])
    results["stopped_last"] = trained([monitors.StopAtStep(last_step=5)])
    early = monitors.ValidationMonitor(
        input_fn=input_fn,
        eval_steps=1,
        every_n_steps=1,
        early_stopping_rounds=3,
        early_stopping_metric_minimize=False,
        check_interval_secs=None,
    )
    results["early"] = trained([early], steps=20)
    results["best"] = [early.best_step, early.best_value, early.early_stopped]
    return results
