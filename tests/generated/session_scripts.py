"""Random programs that build a TPU's computation by hand and run it in a Session, as scripts of 2018 and 2019.

The networks and updates are those of ``estimator_scripts.py``. Here is what stands around them: the functions
that make a computation (``shard``, ``batch_parallel``, ``replicate``), what goes in and comes out, loops inside
(``repeat``, ``while_loop``, infeeds), and the Session that runs it (hooks, savers, assignments from the host).

A program has 8 shards on every target, so that statistics of a shard are the same wherever it runs.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading

import estimator_scripts as networks
import model_fns as plain
from choices import Maker

import tpucompat.v1 as tf

tpu = tf.contrib.tpu
SHARDS, BATCH, STEPS = 8, 16, 3
# Reasons of the networks' that do not hold here.
OF_PARTS = ("batch normalization", "clipped")


def data_of(m):
    """Examples of some batches, and labels of three classes."""
    kind = m.one("image", "sequence", "vector", "vector", "words")
    shape = {"image": (6, 6, 2), "sequence": (5, 4), "vector": (6,), "words": (5,)}[kind]
    m.note(kind)
    count = BATCH * STEPS
    if kind == "words":
        examples = m.numbers.randint(0, 9, (count, *shape)).astype("int32")
    else:
        examples = m.numbers.rand(count, *shape).astype("float32")
    return kind, examples, m.numbers.randint(0, 3, count).astype("int32")


def network_of(m, kind):
    """A function of a batch and the phase that gives the logits; its variables are shared by all calls."""
    network = networks.network_of(m, "sequence" if kind == "words" else kind)

    def logits_of(x, training):
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE, custom_getter=plain.by_name):
            if kind == "words":
                x = tf.nn.embedding_lookup(tf.get_variable("table", [9, 4]), x)
            return tf.layers.dense(network(x, training), 3, name="logits")

    return logits_of


def step_of(m, logits_of):
    """A function of a batch that trains once and gives tensors: the loss first."""
    train_fn = networks.training_of(m)
    loss_kind = m.one("sum", "mean", "focal")
    more = m.one("loss", "loss", "accuracy", "logits", "sum")
    m.note(f"gives {more}")

    def step(x, labels):
        logits = logits_of(x, True)
        loss = networks.loss_of(loss_kind, labels, logits)
        loss += sum(tf.losses.get_regularization_losses(), 0.0)
        train_op, _ = train_fn(loss)
        with tf.control_dependencies([train_op]):
            loss = tf.identity(loss)
        if more == "accuracy":
            right = tf.equal(labels, tf.argmax(logits, 1, output_type=tf.int32))
            return [loss, tf.cast(right, tf.float32)]
        if more == "logits":
            return [loss, tf.transpose(logits)]
        if more == "sum":
            return [loss, tpu.cross_replica_sum(loss) / SHARDS]
        return [loss]

    return step, {"logits": [0, 1]}.get(more, [0] * (1 if more == "loss" else 2))


def through(m, step, axes, inputs):
    """The computation of a step, by one of the functions that make one.

    Returns:
      Its outputs as arrays of all shards' values.
    """
    door = m.one("shard", "shard", "replicate", "batch_parallel")
    if door == "batch_parallel" and any(axes):
        door = "shard"
    m.note(door)
    if door == "batch_parallel":
        return tpu.batch_parallel(step, inputs, num_shards=SHARDS)
    if door == "shard":
        return tpu.shard(step, inputs, num_shards=SHARDS, output_shard_axes=axes)
    parts = zip(*(tf.split(each, SHARDS) for each in inputs))
    form = m.one("list", "dict")
    if form == "dict":
        rows = tpu.replicate(
            lambda batch: dict(enumerate(step(batch["x"], batch["y"]))),
            [[{"x": x, "y": y}] for x, y in parts],
        )
        rows = [[row[key] for key in sorted(row)] for row in rows]
    else:
        rows = tpu.replicate(step, [list(part) for part in parts])
    return [
        tf.stack(each) if not each[0].shape.ndims else tf.concat(each, axis)
        for each, axis in zip(zip(*rows), axes)
    ]


def looped(m, logits_of, step, examples, labels):
    """All steps of a training in one computation, with an infeed or with the data inside.

    Returns:
      The losses of the last step, and a function that feeds while they are computed.
    """
    way = m.one("infeed", "infeed queue", "data inside", "while_loop")
    m.note(f"loop: {way}")
    part = BATCH // SHARDS
    types, shape = [tf.as_dtype(examples.dtype), tf.int32], examples.shape[1:]

    if way in ("data inside", "while_loop"):
        # Every shard has its own part of each batch.
        split = [
            each.reshape(STEPS, SHARDS, part, *each.shape[1:]).swapaxes(0, 1).reshape(each.shape)
            for each in (examples, labels)
        ]

        def inside(x, y):
            def body(index, last, x=x, y=y):
                begin = index * part
                size = [part, *shape]
                batch = tf.slice(x, [begin] + [0] * len(shape), size), tf.slice(y, [begin], [part])
                batch = [tf.reshape(batch[0], size), tf.reshape(batch[1], [part])]
                return index + 1, step(*batch)[0]

            if way == "while_loop":
                return tpu.while_loop(lambda index, _: index < STEPS, body, [0, 0.0])[1]
            return tpu.repeat(STEPS, body, [0, 0.0])[1]

        (losses,) = tpu.shard(inside, [tf.constant(each) for each in split], num_shards=SHARDS)
        return losses, lambda session: None

    queue = tpu.InfeedQueue(number_of_tuple_elements=2) if way == "infeed queue" else None
    placeholders = [tf.placeholder(types[0], [BATCH, *shape]), tf.placeholder(tf.int32, [BATCH])]
    if queue is not None:
        queue.set_number_of_shards(SHARDS)
        parts = list(zip(*(tf.split(each, SHARDS) for each in placeholders)))
        enqueue = queue.generate_enqueue_ops(parts, tpu_ordinal_function=lambda shard: shard)
    else:
        enqueue = [
            tpu.infeed_enqueue_tuple(
                list(each), [one.shape for one in each], device_ordinal=ordinal
            )
            for ordinal, each in enumerate(zip(*(tf.split(each, SHARDS) for each in placeholders)))
        ]

    def body(last, *batch):
        if not batch:
            batch = tpu.infeed_dequeue_tuple(types, [[part, *shape], [part]])
        return step(*batch)[0]

    (losses,) = tpu.shard(
        lambda: tpu.repeat(STEPS, body, [0.0], infeed_queue=queue), num_shards=SHARDS
    )

    def feed(session):
        for batch in batches(examples, labels):
            session.run(enqueue, dict(zip(placeholders, batch)))

    return losses, feed


def batches(examples, labels):
    for begin in range(0, len(labels), BATCH):
        yield examples[begin : begin + BATCH], labels[begin : begin + BATCH]


def evaluation(m, logits_of, x, labels):
    """A computation beside the training's, on the same variables."""
    way = m.one("rewrite", "batch_parallel", "host", "inference")
    m.note(f"evaluated by {way}")

    def evaluate(x, labels):
        logits = logits_of(x, False)
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return [each, tf.nn.softmax(logits)]

    if way == "rewrite":
        return tpu.rewrite(evaluate, [x, labels])
    if way == "batch_parallel":
        return tpu.batch_parallel(evaluate, [x, labels], num_shards=SHARDS)
    if way == "inference":
        return tpu.rewrite(lambda x: tf.nn.softmax(logits_of(x, False)), [x])
    return evaluate(x, labels)


def train(seed, brief=False):
    """Makes the program of a seed and runs it: what it gave, why it cannot be the same, what it is."""
    m = Maker(seed)
    folder = tempfile.mkdtemp()
    try:
        with tf.Graph().as_default():
            found = _train(m, folder)
        apart = [reason for reason in m.apart if not reason.startswith(OF_PARTS)]
        return {**found, "log": m.log, "apart": sorted(apart)}
    except Exception as error:
        error.log = m.log
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _train(m, folder):
    tf.set_random_seed(m.seed + 1)
    tf.get_variable_scope().set_use_resource(True)
    kind, examples, labels = data_of(m)
    logits_of = network_of(m, kind)
    step, axes = step_of(m, logits_of)
    size = [BATCH, *examples.shape[1:]]
    x = tf.placeholder(tf.as_dtype(examples.dtype), size, "x")
    y = tf.placeholder(tf.int32, [BATCH], "y")
    global_step = tf.train.get_or_create_global_step()
    feed, pipeline = None, None
    if m.often(0.3):
        losses, feed = looped(m, logits_of, step, examples, labels)
        outputs = [losses]
    elif m.often(0.3):
        m.note("from a Dataset")
        dataset = tf.data.Dataset.from_tensor_slices((examples, labels)).repeat()
        pipeline = dataset.batch(BATCH, drop_remainder=True).make_initializable_iterator()
        outputs = through(m, step, axes, list(pipeline.get_next()))
    else:
        outputs = through(m, step, axes, [x, y])
    evaluated = evaluation(m, logits_of, x, y)
    mean = tf.reduce_mean(outputs[0], name="mean")
    saver = tf.train.Saver(max_to_keep=1)
    way = m.one("Session", "Session", "monitored", "restored", "assigned")
    m.note(f"run in {way}")
    first = next(batches(examples, labels))
    result = {"steps": []}

    def steps(session):
        if feed is not None:
            feeding = threading.Thread(target=feed, args=[session])
            feeding.start()
            result["steps"].append(session.run([mean, *outputs]))
            feeding.join()
            return
        for batch in batches(examples, labels):
            fed = {} if pipeline is not None else dict(zip((x, y), batch))
            result["steps"].append(session.run([mean, *outputs], fed))

    def ended(session):
        result["evaluation"] = session.run(evaluated, dict(zip((x, y), first)))
        names = [variable.op.name for variable in tf.global_variables()]
        result["weights"] = dict(zip(names, session.run(tf.global_variables())))

    if way == "monitored" and feed is None:
        with tf.Session("grpc://tpu.invalid:8470") as session:
            session.run(tpu.initialize_system())
        scaffold = tf.train.Scaffold(
            local_init_op=pipeline.initializer if pipeline is not None else None, saver=saver
        )
        hooks = [tf.train.NanTensorHook(mean), tf.train.StopAtStepHook(last_step=100)]
        hooks.append(tf.train.CheckpointSaverHook(folder, save_steps=2, scaffold=scaffold))
        with tf.train.MonitoredSession(
            tf.train.ChiefSessionCreator(scaffold, checkpoint_dir=folder), hooks
        ) as session:
            steps(session)
            session.run_step_fn(
                lambda step_context: ended(step_context.session)
            )  # hooks would train on
        return result
    with tf.Session("grpc://tpu.invalid:8470") as session:
        session.run(tpu.initialize_system())
        session.run(tf.global_variables_initializer())
        if pipeline is not None:
            session.run(pipeline.initializer)
        steps(session)
        if way == "restored":
            saver.save(session, os.path.join(folder, "model"), global_step)
            steps(session)
            saver.restore(session, tf.train.latest_checkpoint(folder))
            steps(session)
        if way == "assigned":
            for variable in tf.trainable_variables():
                variable.load(0.5 * session.run(variable), session)
            session.run(global_step.assign(0))
            steps(session)
        ended(session)
        session.run(tpu.shutdown_system())
    return result
