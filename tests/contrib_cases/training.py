"""tf.contrib.training."""

import collections
import copy
import importlib
import os
import pickle
import tempfile

import numpy as np

from contrib_cases import numbers


def _refused(function, *args):
    """The type of error that a call raises, as scripts can catch it."""
    try:
        function(*args)
    except KeyError:
        return "KeyError"
    except ValueError:
        return "ValueError"
    except TypeError:
        return "TypeError"
    return "accepted"


def _hparams(tf):
    return tf.contrib.training.HParams(
        rate=0.1, layers=3, name="net", train=True, sizes=[1, 2], words=["a", "b"], nothing=None
    )


def case_hparams(tf):
    results = collections.OrderedDict()
    texts = [
        "rate=0.5",
        "rate=1e-3,layers=7, name=some text ",
        "train=false",
        "train=0,layers = 4",
        "sizes=[3, 4 5]",
        "words=[x,y],name=",
        "name=a.b/c:d",
        "sizes=[]",
        "",
        "layers=2,",
    ]
    for number, text in enumerate(texts):
        results[f"parsed{number}"] = repr(_hparams(tf).parse(text))
    bad = [
        "rate",
        "rate=x",
        "layers=1.5",
        "train=maybe",
        "unknown=1",
        "rate=1,rate=2",
        "sizes=3",
        "layers=[3]",
        "sizes[0]=3",
        "name[0]=x",
        "sizes[0]=[1]",
        "rate=0.1[",
        "9=3",
        "sizes=[1,2",
        "sizes=[a]",
        "nothing=1",
    ]
    for number, text in enumerate(bad):
        results[f"refused{number}"] = _refused(_hparams(tf).parse, text)
    return results


def case_hparams_methods(tf):
    hparams = _hparams(tf)
    results = {}
    hparams.add_hparam("late", 5)
    hparams.rate = 0.7
    hparams.set_hparam("layers", np.int64(9))
    hparams.set_hparam("sizes", [7])
    hparams.set_hparam("rate", 1)
    results["values"] = str(sorted(hparams.values().items()))
    results["json"] = hparams.to_json(sort_keys=True)
    results["json_indented"] = hparams.to_json(indent=1, separators=(";", "="), sort_keys=True)
    results["parsed"] = repr(_hparams(tf).parse_json('{"rate": 2, "words": ["q"], "train": false}'))
    results["overridden"] = repr(hparams.override_from_dict({"name": "n", "train": False}))
    results["map"] = repr(hparams.set_from_map({"late": 6}))
    results["get"] = str(
        [hparams.get("rate"), hparams.get("none", 3), hparams.get("layers", 4), "rate" in hparams]
    )
    results["get_refused"] = [
        _refused(hparams.get, "rate", "text"),
        _refused(hparams.get, "sizes", 1),
        _refused(hparams.get, "rate", [1.0]),
    ]
    results["set_refused"] = [
        _refused(hparams.set_hparam, *pair)
        for pair in [
            ("rate", "0.5"),
            ("layers", 0.5),
            ("train", 1),
            ("layers", True),
            ("name", 3),
            ("sizes", (1, 2)),
            ("sizes", 1),
            ("rate", [1.0]),
            ("absent", 1),
        ]
    ]
    results["add_refused"] = [
        _refused(hparams.add_hparam, "rate", 1),
        _refused(hparams.add_hparam, "values", 1),
        _refused(hparams.add_hparam, "empty", []),
        _refused(hparams.add_hparam, "nothing", 1),
    ]
    hparams.del_hparam("late")
    hparams.del_hparam("late")
    hparams.set_model_structure({"a": 1})
    results["structure"] = str(hparams.get_model_structure())
    results["text"] = sorted(str(hparams).split(","))
    results["copied"] = repr(copy.deepcopy(hparams))
    results["pickled"] = repr(pickle.loads(pickle.dumps(hparams)))
    parse = tf.contrib.training.parse_values
    results["indexed"] = str(sorted(parse("a[2]=3,a[0]=1,b=[x]", {"a": int, "b": str}).items()))
    results["ignored"] = str(parse("a=1,c=2", {"a": int}, ignore_unknown=True))
    results["index_twice"] = _refused(parse, "a[1]=1,a[1]=2", {"a": int})
    results["index_and_not"] = _refused(parse, "a=1,a[1]=2", {"a": int})
    return results


def case_loop(tf):
    training = tf.contrib.training
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        x = tf.get_variable("x", initializer=numbers(3))
        y = tf.get_variable("y", initializer=numbers(2, seed=2))
        loss = tf.reduce_sum(x**2) + tf.reduce_sum(tf.gather(y, [1]) ** 2)
        tf.train.get_or_create_global_step()

        def transform(pairs):
            pairs = training.multiply_gradients(pairs, {"x": 0.5, y: 2.0})
            return training.clip_gradient_norms_fn(1.0)(pairs)

        op = training.create_train_op(
            loss,
            tf.train.GradientDescentOptimizer(0.1),
            transform_grads_fn=transform,
            summarize_gradients=True,
        )
        last = training.train(
            op,
            folder,
            hooks=[tf.train.StopAtStepHook(last_step=3)],
            save_summaries_steps=1,
            save_checkpoint_secs=100,
        )
    paths = list(training.checkpoints_iterator(folder, timeout=0))
    private = importlib.import_module(tf.__name__ + ".contrib.training.python.training.evaluation")
    results = {
        "loss": last,
        "paths": [os.path.basename(path) for path in paths],
        "private": [os.path.basename(p) for p in private.checkpoints_iterator(folder, timeout=0)],
        "waited": str(training.wait_for_new_checkpoint(folder, paths[0], timeout=0)),
        "x": tf.train.load_variable(folder, "x"),
        "y": tf.train.load_variable(folder, "y"),
    }
    with tf.Graph().as_default():
        x = tf.get_variable("x", [3])
        tf.summary.scalar("s", tf.reduce_sum(x))
        values = training.evaluate_once(
            checkpoint_path=paths[0],
            eval_ops=tf.no_op(),
            final_ops={"sum": tf.reduce_sum(x), "step": training.get_or_create_eval_step()},
            hooks=[training.StopAfterNEvalsHook(2), training.SummaryAtEndHook(folder)],
        )
        results["evaluated"] = {name: np.asarray(value) for name, value in values.items()}
    return results


def _batches(tf, make, count=12):
    """All batches that a queue gives before it ends, with their buckets or lengths."""
    found = []
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()
        made = make(number)
        shapes = str([str(each.shape) for each in tf.contrib.framework.nest.flatten(made)])
        with tf.train.MonitoredSession() as sess:
            while not sess.should_stop():
                try:
                    found.append(sess.run(made))
                except tf.errors.OutOfRangeError:
                    break
    # The queues of two buckets are emptied in any order.
    return {"shapes": shapes, "batches": sorted(found, key=lambda each: str(each[1]))}


def case_buckets(tf):
    training = tf.contrib.training

    def by_length(number, **options):
        length = 1 + number % 5
        words = tf.fill([length], number)
        return training.bucket_by_sequence_length(
            length,
            {"words": words, "number": number},
            2,
            [2, 4],
            dynamic_pad=True,
            shapes=[[], [None]],
            **options,
        )

    def kept(number):
        return training.bucket(
            [number, tf.cast(number, tf.float32)],
            number % 2,
            [2, 3],
            2,
            keep_input=number < 9,
            bucket_capacities=[4, 8],
        )

    return {
        "lengths": _batches(tf, by_length),
        "lengths_all": _batches(tf, lambda n: by_length(n, allow_smaller_final_batch=True)),
        "kept": _batches(tf, kept),
        "alone": _batches(tf, lambda n: training.bucket([n], n % 2, 2, 2, name="own")),
    }


def case_placement(tf):
    training = tf.contrib.training
    with tf.Graph().as_default():
        ops = [tf.zeros([size], name=f"n{size}").op for size in (5, 1, 2, 4, 3)]
        greedy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
        random = training.RandomStrategy(3, seed=1)
        return {"greedy": [int(greedy(op)) for op in ops], "random": [random(op) for op in ops]}


def case_local_server(tf):
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default():
        with tf.device("/job:local/task:0"):
            counter = tf.get_variable(
                "counter_of_a_local_server", [], initializer=tf.zeros_initializer()
            )
        with tf.Session(server.target) as sess:
            sess.run(counter.initializer)
            sess.run(counter.assign_add(2.0))
        with tf.Session(server.target) as sess:  # the server keeps its variables
            return {"value": sess.run(counter), "is server": isinstance(server, tf.train.Server)}
