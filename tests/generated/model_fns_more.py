"""Random model functions out of the operations of ``operations.py``, and what else other programs do not draw.

The programs are those of ``model_fns.py``, drawn from tables of tf.contrib.rnn, decoders of tf.contrib.seq2seq,
streaming metrics of tf.contrib.metrics, losses of tf.contrib.losses, and data sets made in the ways of tf.data;
mixed bfloat16; loops over the batch's own tensors; and more than one Estimator in a process.
"""

from __future__ import annotations

from unittest import mock

import model_fns as plain
import numpy as np
import operations

import tpucompat.v1 as tf

tpu, rnn, seq2seq = tf.contrib.tpu, tf.contrib.rnn, tf.contrib.seq2seq


def computed(m, kind):
    rows = operations.rows_of(kind)
    name = m.one(*rows)
    m.note(name)

    def apply(x, _):
        made = rows[name](x)
        # Numbers of an ordinary size, whatever was computed.
        return 0.5 * tf.tanh(made) + 0.1 * x if made.shape == x.shape else tf.tanh(made)

    return apply


def mixed(m, kind):
    """Layers in bfloat16 of numbers that bfloat16 has, as scripts for a TPU mix them."""
    units = m.units()
    m.note("bfloat16_scope")
    m.apart.add("bfloat16: a sum in another order may have another last digit, of 4e-3")

    def apply(x, training):
        with tf.contrib.tpu.bfloat16_scope():
            y = tf.layers.dense(tf.cast(x, tf.bfloat16), units, tf.nn.relu)
            y = tf.layers.batch_normalization(y, training=False)
            y = tf.layers.dense(tf.layers.dropout(y, 0.0, training=training), units)
        return tf.cast(y, tf.float32)

    return apply


# Recurrent networks ---------------------------------------------------------------------------------------


def cells_of(m):
    """A cell of tf.contrib.rnn or tf.nn.rnn_cell, with arguments of scripts."""
    units, plain_cells = m.units(), tf.nn.rnn_cell
    rows = {
        "LSTMBlockCell": lambda: rnn.LSTMBlockCell(units, use_peephole=m.seed % 2 == 0),
        "GRUBlockCellV2": lambda: rnn.GRUBlockCellV2(units),
        "GRUBlockCell": lambda: rnn.GRUBlockCell(units),
        "LayerNormBasicLSTMCell": lambda: rnn.LayerNormBasicLSTMCell(units, dropout_keep_prob=1.0),
        "LSTMCell": lambda: rnn.LSTMCell(units, num_proj=3, num_unit_shards=2, num_proj_shards=2),
        "variational": lambda: plain_cells.DropoutWrapper(
            plain_cells.LSTMCell(units), 1.0, 1.0, 1.0, True, input_size=tf.TensorShape([None]),
            dtype=tf.float32, seed=3
        ) if not m.exact else plain_cells.DropoutWrapper(plain_cells.LSTMCell(units), 1.0),
        "tuple": lambda: plain_cells.MultiRNNCell([plain_cells.GRUCell(units)] + [
            plain_cells.ResidualWrapper(plain_cells.GRUCell(units)) for _ in range(2)
        ]),
        "joined": lambda: plain_cells.MultiRNNCell(
            [plain_cells.BasicRNNCell(units), plain_cells.BasicRNNCell(3)], state_is_tuple=False
        ),
        "joined LSTM": lambda: plain_cells.BasicLSTMCell(units, state_is_tuple=False),
        "Keras": lambda: tf.keras.layers.LSTMCell(units),
        "highway": lambda: plain_cells.ResidualWrapper(
            plain_cells.GRUCell(units),
            residual_fn=lambda given, out: out + tf.reduce_mean(given, -1, keepdims=True),
        ),
    }  # fmt: skip
    name = m.one(*rows)
    if name == "variational" and not m.exact:
        m.apart.add("dropout: every core draws its own numbers")
    m.note(f"cell {name}")
    return rows[name]


def lengths_of(x):
    return 1 + tf.cast(tf.reduce_sum(tf.abs(x), [1, 2]) * 10.0, tf.int32) % x.shape.as_list()[1]


def recurrent(m, kind):
    way = m.one(
        *("lengths", "time major", "last of lengths", "bidirectional states", "stacked", "static"),
        *("raw", "scan", "while", "chained", "Keras", "convolution"),
    )
    cell, back, units = cells_of(m), cells_of(m), m.units()
    bounded = m.often(0.7)
    m.note(f"rnn: {way}")

    def raw(x):
        """tf.nn.raw_rnn, whose loop has a bound only where a script gives it one in a loop of its own."""
        one, (batch, steps, _) = cell(), x.shape.as_list()
        given = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(x, [1, 0, 2]))
        lengths = lengths_of(x)

        def loop_fn(time, output, state, loop_state):
            state = one.zero_state(batch, tf.float32) if output is None else state
            ended = time >= lengths
            zero = tf.zeros_like(x[:, 0])
            now = tf.cond(
                tf.reduce_all(ended), lambda: zero, lambda: given.read(tf.minimum(time, steps - 1))
            )
            return ended, now, state, output, None

        outputs, _, _ = tf.nn.raw_rnn(one, loop_fn)
        found = tf.transpose(outputs.stack(), [1, 0, 2])
        return tf.reduce_sum(found, 1)[:, None] + x[..., :1]

    def scanned(x):
        one = cell()
        turned = tf.transpose(x, [1, 0, 2])
        start = one.zero_state(x.shape.as_list()[0], tf.float32)
        first = (tf.zeros([x.shape.as_list()[0], one.output_size]), start)
        outputs, _ = tf.scan(lambda state, now: one(now, state[1]), turned, initializer=first)
        return tf.transpose(outputs, [1, 0, 2])

    def looped(x):
        """A loop of a script's own, over arrays."""
        one, (batch, steps, _) = cell(), x.shape.as_list()
        given = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(x, [1, 0, 2]))
        found = tf.TensorArray(tf.float32, steps, element_shape=[batch, one.output_size])

        def body(time, state, found):
            output, state = one(given.read(time), state)
            return time + 1, state, found.write(time, output)

        start = (0, one.zero_state(batch, tf.float32), found)
        limit = {"maximum_iterations": steps} if bounded else {}
        _, _, found = tf.while_loop(lambda time, *_: time < steps, body, start, **limit)
        return tf.transpose(found.stack(), [1, 0, 2])

    def apply(x, training):
        batch, steps, _ = x.shape.as_list()
        options = {"dtype": tf.float32}
        with tf.variable_scope(None, "recurrent"):
            if way in ("raw", "scan", "while"):
                return {"raw": raw, "scan": scanned, "while": looped}[way](x)
            if way == "time major":
                outputs, _ = tf.nn.dynamic_rnn(
                    cell(), tf.transpose(x, [1, 0, 2]), lengths_of(x), time_major=True, **options
                )
                return tf.transpose(outputs, [1, 0, 2])
            if way == "last of lengths":
                outputs, _ = tf.nn.dynamic_rnn(cell(), x, lengths_of(x), **options)
                last = tf.stack([tf.range(batch), lengths_of(x) - 1], 1)
                return tf.gather_nd(outputs, last)[:, None] + x[..., :1]
            if way == "bidirectional states":
                _, states = tf.nn.bidirectional_dynamic_rnn(
                    cell(), back(), x, lengths_of(x), **options
                )
                return tf.concat(
                    [tf.reshape(s, [batch, 1, -1]) for s in tf.nest.flatten(states)], -1
                )
            if way == "stacked":
                return rnn.stack_bidirectional_dynamic_rnn(
                    [cell(), cell()], [back(), back()], x, sequence_length=lengths_of(x), **options
                )[0]
            if way == "static":
                outputs, _ = tf.nn.static_rnn(
                    cell(), tf.unstack(x, axis=1), sequence_length=lengths_of(x), **options
                )
                return tf.stack(outputs, 1)
            if way == "Keras":
                layer = tf.keras.layers.RNN(
                    tf.keras.layers.GRUCell(units), return_sequences=True, unroll=m.seed % 2 == 0
                )
                return layer(x)
            if way == "convolution":
                given = tf.reshape(x, [batch, steps, -1, 1])
                one = rnn.Conv1DLSTMCell(
                    input_shape=[given.shape.as_list()[2], 1], output_channels=2, kernel_shape=[2]
                )
                outputs, _ = tf.nn.dynamic_rnn(one, given, **options)
                return tf.reshape(outputs, [batch, steps, -1])
            outputs, state = tf.nn.dynamic_rnn(cell(), x, lengths_of(x), **options)
            if way == "lengths":
                return outputs
            with tf.variable_scope("after"):
                again, _ = tf.nn.dynamic_rnn(cell(), outputs[..., :1] + x, initial_state=state)
            return again

    return apply


def decoded(m, kind):
    """A decoder of tf.contrib.seq2seq, with attention or without, whose inputs are trained."""
    way = m.one("training", "training", "greedy", "inference", "scheduled", "custom", "beam")
    attention = m.one(
        None, None, "LuongAttention", "BahdanauAttention", "LuongMonotonicAttention",
        "BahdanauMonotonicAttention",
    )  # fmt: skip
    projected, bounded, lengths = m.often(), m.often(0.7), m.often()
    m.note(f"decoder: {way}, {attention}, projected {projected}, bounded {bounded}")

    def helper_of(x, table):
        batch, steps, _ = x.shape.as_list()
        given = lengths_of(x) if lengths else tf.fill([batch], steps)
        if way == "greedy":
            return seq2seq.GreedyEmbeddingHelper(table, tf.fill([batch], 1), 2)
        if way == "inference":
            return seq2seq.InferenceHelper(
                lambda outputs: outputs[:, :4], [4], tf.float32, x[:, 0],
                lambda outputs: outputs[:, 0] > 10.0
            )  # fmt: skip
        if way == "scheduled":
            return seq2seq.ScheduledOutputTrainingHelper(
                x, given, 0.0, next_inputs_fn=lambda y: y[:, :4]
            )
        if way == "custom":
            return seq2seq.CustomHelper(
                lambda: (tf.fill([batch], False), x[:, 0]),
                lambda time, outputs, state: tf.argmax(outputs, -1, output_type=tf.int32),
                lambda time, outputs, state, sample_ids: (
                    time + 1 >= given, 0.5 * outputs[:, :4] + x[:, 1], state
                ),
            )  # fmt: skip
        return seq2seq.TrainingHelper(x, given)

    def apply(x, training):
        batch, steps, _ = x.shape.as_list()
        with tf.variable_scope(None, "decoder"):
            x = tf.layers.dense(x, 4, name="before")
            table = tf.get_variable("words", [6, 4])
            cell, memory = tf.nn.rnn_cell.GRUCell(6), x
            if way == "beam":
                memory = seq2seq.tile_batch(x, 2)
            if attention is not None:
                mechanism = getattr(seq2seq, attention)(6, memory)
                cell = seq2seq.AttentionWrapper(cell, mechanism, 6)
            start = cell.zero_state(memory.shape.as_list()[0], tf.float32)
            out = tf.layers.Dense(6, name="out") if projected or way == "beam" else None
            if way == "beam":
                decoder = seq2seq.BeamSearchDecoder(
                    cell, table, tf.fill([batch], 1), 2, start, 2, out
                )
            else:
                decoder = seq2seq.BasicDecoder(cell, helper_of(x, table), start, out)
            endless = way in ("greedy", "inference", "beam")
            limit = {"maximum_iterations": steps} if bounded or endless else {}
            found, _, _ = seq2seq.dynamic_decode(decoder, impute_finished=way != "beam", **limit)
            if way == "beam":
                scores = found.beam_search_decoder_output.scores
                total = tf.reduce_sum(tf.nn.embedding_lookup(table, found.predicted_ids[..., 0]), 1)
                return 0.1 * tf.tanh(total)[:, None] + 0.0 * tf.reduce_sum(scores) + x
            made = tf.reduce_sum(found.rnn_output, 1)
            made.set_shape([batch, 6])
            return tf.tanh(made)[:, None, :4] + x

    return apply


ANY = [*[computed] * 6, plain.dense, mixed]
TABLE = {
    "vector": ANY,
    "sequence": [*ANY, *[recurrent] * 5, *[decoded] * 4],
    "image": [*ANY, computed, computed, plain.convolved],
}


# Data sets, losses, metrics ---------------------------------------------------------------------------------


def rows_of_data(features, labels):
    """Name -> the examples, in one of the ways of tf.data."""
    data, count = tf.data.Dataset, plain.EXAMPLES
    slices, indexed = data.from_tensor_slices((features, labels)), data.range(count)
    experimental, nest = tf.data.experimental, tf.nest

    def gathered(index):
        return nest.map_structure(lambda v: tf.gather(v, index), (features, labels))

    def part(index):
        return data.range(index * 12, index * 12 + 12).map(gathered)

    def generator():
        for index in range(count):
            yield nest.map_structure(lambda v, i=index: v[i], (features, labels))

    types = nest.map_structure(lambda v: tf.as_dtype(v.dtype), (features, labels))
    shapes = nest.map_structure(lambda v: tf.TensorShape(v.shape[1:]), (features, labels))
    following = experimental.scan(np.int64(0), lambda state, _: (state + 1, state))
    below = experimental.take_while(lambda i: i < 40)
    halves = [slices.take(24), slices.skip(24)]
    return {
        "slices": lambda: slices,
        "map": lambda: indexed.map(gathered, num_parallel_calls=2),
        "interleave": lambda: data.range(4).interleave(part, cycle_length=2, block_length=3),
        "parallel_interleave": lambda: data.range(4).apply(
            experimental.parallel_interleave(part, cycle_length=2)
        ),
        "flat_map": lambda: data.range(4).flat_map(part),
        "window": lambda: (
            indexed.window(6)
            .flat_map(lambda six: six.batch(6))
            .map(gathered)
            .apply(experimental.unbatch())
        ),
        "cache": lambda: slices.map(lambda *row: row).cache().prefetch(2),
        "zip": lambda: data.zip(
            (data.from_tensor_slices(features), data.from_tensor_slices(labels))
        ),
        "concatenate": lambda: slices.take(20).concatenate(slices.skip(20)),
        "from_generator": lambda: data.from_generator(generator, types, shapes),
        "filter": lambda: indexed.filter(lambda i: i % 3 < 2).map(gathered),
        "shard": lambda: indexed.shard(2, 1).map(gathered),
        "scan": lambda: data.from_tensors(0).repeat(count).apply(following).map(gathered),
        "enumerate": lambda: slices.apply(experimental.enumerate_dataset()).map(lambda i, row: row),
        "shuffle": lambda: slices.shuffle(8, seed=3, reshuffle_each_iteration=False),
        "choose": lambda: experimental.choose_from_datasets(halves, data.range(2).repeat(24)),
        "options": lambda: slices.with_options(tf.data.Options()),
        "ignore_errors": lambda: slices.apply(experimental.ignore_errors()),
        "take_while": lambda: indexed.apply(below).map(gathered),
    }


DATA = (
    "slices", "map", "interleave", "parallel_interleave", "flat_map", "window", "cache", "zip",
    "concatenate", "from_generator", "filter", "shard", "scan", "enumerate", "shuffle", "choose",
    "options", "ignore_errors", "take_while",
)  # fmt: skip


def dataset(m):
    name = m.one(*DATA)
    m.note(f"data: {name}")
    return lambda features, labels: rows_of_data(features, labels)[name]()


def batches(m):
    """Batches of a data set."""
    experimental = tf.data.experimental
    ways = {
        "batch": lambda made, size: made.repeat().batch(size, drop_remainder=True),
        "map_and_batch": lambda made, size: made.repeat().apply(
            experimental.map_and_batch(lambda *row: row, size, drop_remainder=True)
        ),
        "batch_and_drop_remainder": lambda made, size: made.repeat().apply(
            tf.contrib.data.batch_and_drop_remainder(size)
        ),
        "padded_batch": lambda made, size: made.repeat().padded_batch(
            size, tf.data.get_output_shapes(made), drop_remainder=True
        ),
        "shuffle_and_repeat": lambda made, size: made.apply(
            experimental.shuffle_and_repeat(1, None, 3)
        ).batch(size, drop_remainder=True),
        "mapped batches": lambda made, size: (
            made.repeat()
            .batch(size, drop_remainder=True)
            .map(lambda *rows: rows)
            .prefetch(experimental.AUTOTUNE)
        ),
    }
    name = m.one(*ways)
    m.note(f"batches: {name}")
    return ways[name]


def loss_of(m, labels):
    """Losses of tf.contrib.losses, and of a script's own."""
    for_classes = m.one("slim sparse", "slim one-hot", "focal", "gathered", "top", "collected")
    for_numbers = m.one("slim squares", "quantile", "matrix", "collected", "correlation")
    m.note(f"losses {for_classes} {for_numbers}")

    def of_classes(given, logits):
        slim, ones = tf.contrib.losses, tf.one_hot(given, 3)
        near = tf.nn.log_softmax(logits)
        if for_classes == "slim sparse":
            slim.sparse_softmax_cross_entropy(logits, given)
            return slim.get_total_loss(add_regularization_losses=False)
        if for_classes == "slim one-hot":
            return slim.softmax_cross_entropy(logits, ones, label_smoothing=0.1)
        if for_classes == "focal":
            chosen = tf.reduce_sum(ones * near, -1)
            return -tf.reduce_mean(tf.pow(1.0 - tf.exp(chosen), 2.0) * chosen)
        if for_classes == "gathered":
            rows = tf.stack([tf.range(tf.shape(given)[0]), given], 1)
            return -tf.reduce_mean(tf.gather_nd(near, rows))
        if for_classes == "top":
            best, _ = tf.nn.top_k(logits, 2)
            return tf.reduce_mean(tf.nn.relu(0.5 - best[:, 0] + best[:, 1]) - 0.1 * near[:, 0])
        tf.losses.sparse_softmax_cross_entropy(given, logits)
        return tf.losses.get_total_loss()

    def of_numbers(given, numbers):
        if for_numbers == "slim squares":
            return tf.contrib.losses.mean_squared_error(numbers, given)
        if for_numbers == "quantile":
            error = given - numbers
            return tf.reduce_mean(tf.maximum(0.3 * error, -0.7 * error))
        if for_numbers == "matrix":
            error = (given - numbers)[:, :, None]
            return tf.reduce_mean(tf.matmul(error, error, transpose_a=True))
        if for_numbers == "correlation":
            both = tf.reduce_sum(given * numbers, -1)
            # No norm of numbers that may all be zero: XLA's gradient of a root is then 0 / 0, on a TPU too.
            length = tf.sqrt(tf.reduce_sum(numbers * numbers, -1) + 1e-4)
            return tf.reduce_mean(-both / (tf.norm(given, axis=-1) * length))
        return tf.losses.absolute_difference(given, numbers, weights=0.5)

    def apply(labels, outputs):
        total = 0.0
        if "classes" in labels:
            total += of_classes(labels["classes"], outputs["classes"])
        if "numbers" in labels:
            total += of_numbers(labels["numbers"], outputs["numbers"])
        return total

    return apply


def metrics(classes=None, numbers=None, of_classes=None, of_numbers=None):
    """What tf.contrib.metrics streams, and what is made of several metrics."""
    given, found = tf.contrib.metrics, {}
    if classes is not None:
        chosen = tf.argmax(of_classes, 1, output_type=tf.int32)
        first, chance = tf.equal(classes, 0), tf.nn.softmax(of_classes)[:, 0]
        found = {
            "accuracy": given.streaming_accuracy(chosen, classes),
            "auc": given.streaming_auc(chance, first, num_thresholds=20, curve="PR"),
            "precision": given.streaming_precision(tf.equal(chosen, 0), first),
            "recall": given.streaming_recall(tf.equal(chosen, 0), first),
            "precision_at": given.streaming_precision_at_thresholds(chance, first, [0.2, 0.5]),
            "recall_at": given.streaming_recall_at_thresholds(chance, first, [0.2, 0.5]),
            "recall_k": given.streaming_sparse_recall_at_k(
                of_classes, tf.cast(classes[:, None], tf.int64), 2
            ),
            "precision_k": given.streaming_sparse_precision_at_k(
                of_classes, tf.cast(classes[:, None], tf.int64), 2
            ),
            "false_positives": given.streaming_false_positives(tf.equal(chosen, 0), first),
            "true_negatives": given.streaming_true_negatives(tf.equal(chosen, 0), first),
            "false_negative_rate": given.streaming_false_negative_rate(tf.equal(chosen, 0), first),
            "f1": given.f1_score(first, chance, num_thresholds=20),
            "kappa": given.cohen_kappa(classes, chosen, 3),
            "iou": given.streaming_mean_iou(chosen, classes, 3),
            "counted": given.count(of_classes),
            "at recall": given.precision_at_recall(first, chance, 0.5, num_thresholds=20),
        }
    if numbers is not None:
        error = tf.metrics.mean_squared_error(numbers, of_numbers)
        found.update(
            {
                "mean": given.streaming_mean(of_numbers),
                "error": given.streaming_mean_absolute_error(of_numbers, numbers),
                "root": given.streaming_root_mean_squared_error(of_numbers, numbers),
                "covariance": given.streaming_covariance(of_numbers, numbers),
                "correlation": given.streaming_pearson_correlation(of_numbers + numbers, numbers),
                "less": given.streaming_percentage_less(of_numbers, 0.3),
                "cosine": given.streaming_mean_cosine_distance(
                    tf.nn.l2_normalize(of_numbers + 0.1, 1), tf.nn.l2_normalize(numbers, 1), 1
                ),
                "of another": (tf.sqrt(error[0]), error[1]),
                "tensor": given.streaming_mean_tensor(tf.reduce_mean(of_numbers, 0)),
            }
        )  # fmt: skip
    return found


def train(seed, brief=False):
    """Makes the program of a seed and runs it, as ``model_fns.train``."""
    others = {"TABLE": TABLE, "dataset": dataset, "batches": batches}
    with mock.patch.multiple(plain, **others, loss_of=loss_of, metrics=metrics):
        return plain.train(seed, brief)
