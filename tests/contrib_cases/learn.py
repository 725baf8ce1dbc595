"""tf.contrib.learn and tensorflow.examples.tutorials.mnist."""

import gzip
import importlib
import json
import os
import struct
import tempfile

import numpy as np

from contrib_cases import numbers


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


def _rows(rows):
    return [np.asarray(row).tolist() for row in rows]


def case_preprocessing(tf):
    learn = tf.contrib.learn.preprocessing
    texts = ["The cat-sat ABCdef it's", "FooBar baz the THE x", ""]
    results = {"tokens": ["|".join(words) for words in learn.tokenizer(texts)]}
    words = learn.VocabularyProcessor(4)
    results["words"] = _rows(words.fit_transform(texts))
    results["unknown"] = _rows(words.transform(["new cat-sat"]))
    results["reversed"] = list(words.reverse(words.transform(texts)))
    path = os.path.join(tempfile.mkdtemp(), "words")
    words.save(path)
    results["restored"] = _rows(learn.VocabularyProcessor.restore(path).transform(texts))
    frequent = learn.VocabularyProcessor(5, min_frequency=1)
    results["frequent"] = _rows(frequent.fit_transform(["d d a b a", "b c a d d"]))
    split = learn.VocabularyProcessor(3, tokenizer_fn=lambda all: (t.split(" ") for t in all))
    results["split"] = _rows(split.fit_transform(["a, b", "b c a, d d"]))
    for limits in ((0, -1), (1, -1), (1, 3), (2, 4)):
        vocabulary = learn.CategoricalVocabulary()
        for word, count in (("b", 2), ("a", 2), ("c", 1), ("d", 4), ("e", 3), ("<UNK>", 3)):
            vocabulary.add(word, count)
        vocabulary.trim(*limits)
        kept = [vocabulary.reverse(number) for number in range(len(vocabulary))]
        vocabulary.freeze()
        results["trim {} {}".format(*limits)] = [kept, [vocabulary.get(word) for word in "abcdez"]]
    rows = [[1, "a"], [2, "b"], [float("nan"), "a"]]
    results["categories"] = _rows(learn.CategoricalProcessor().fit_transform(rows))
    shared = learn.CategoricalProcessor(min_frequency=1, share=True)
    results["shared"] = _rows(shared.fit_transform([["a", "b"], ["b", "c"], ["b", "a"]]))
    lettered = learn.ByteProcessor(6)
    letters = list(lettered.transform(["h\xe9", "longer text", b"by", ""]))
    results["bytes"] = letters
    results["letters"] = list(lettered.reverse(np.array(letters)))
    return results
