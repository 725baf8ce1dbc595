"""The queues of tf.contrib.training."""

import numpy as np

from contrib_cases import numbers, run


def _through_queues(tf, build, batches=None):
    """The batches of a pipeline of one thread: so many of one without end, else all.

    A pipeline that ends is left to end: 1.15 may wait for ever for a Barrier that a Coordinator cancels.
    """
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        fetches = build()
        config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=4)
        with tf.Session(config=config) as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator() if batches else None
            threads = tf.train.start_queue_runners(sess, coordinator)
            if coordinator:
                found = [sess.run(fetches) for _ in range(batches)]
                coordinator.request_stop()
                coordinator.join(threads, stop_grace_period_secs=5, ignore_live_threads=True)
                return found
            found = []
            while True:
                try:
                    found.append(sess.run(fetches))
                except tf.errors.OutOfRangeError:
                    break
            for thread in threads:
                thread.join(30)
            return found


def _words(tf, epochs=1):
    """The numbers from 1 to 12, one by one, in order, each with a vector of that many ones."""
    number = tf.train.input_producer(
        tf.range(1, 13), shuffle=False, num_epochs=epochs, capacity=1
    ).dequeue()
    return number, tf.ones(tf.reshape(number, [1]), tf.float32) * tf.cast(number, tf.float32)


def case_buckets(tf):
    training = tf.contrib.training

    def by_length():
        number, vector = _words(tf)
        return training.bucket_by_sequence_length(
            number,
            {"vector": vector},
            batch_size=3,
            bucket_boundaries=[4, 7, 10],
            dynamic_pad=True,
            capacity=12,
        )

    def by_number():
        number, _ = _words(tf)
        return training.bucket(
            [number, tf.SparseTensor([[0]], tf.reshape(number, [1]), [1])],
            number % 2,
            batch_size=2,
            num_buckets=2,
        )

    def sorted_batches(found, key):
        return sorted(found, key=lambda batch: str(np.asarray(key(batch)).tolist()))

    lengths = _through_queues(tf, by_length)
    pairs = _through_queues(tf, by_number)
    return {
        "by_length": sorted_batches(lengths, lambda batch: batch[0]),
        "by_number": [
            (which, tensors[0], tensors[1].values, tensors[1].dense_shape)
            for which, tensors in sorted_batches(pairs, lambda batch: batch[1][0])
        ],
    }


def case_resampled(tf):
    def build():
        values = tf.constant(numbers(6, 2))
        rates = tf.constant([0.5, 1.0, 2.0, 0.0, 3.0, 1.0])
        resampled = tf.contrib.training.resample_at_rate([values], rates, seed=3)
        weighted = tf.contrib.training.weighted_resample([values], rates, 1.5, seed=4)
        return {"at_rate": resampled, "weighted": weighted[0], "rates": weighted[1]}

    return run(tf, build)


def case_samples(tf):
    """What does not depend on the draws, and what depends on nothing else."""
    training = tf.contrib.training

    def all_accepted():
        number, _ = _words(tf)
        return training.rejection_sample([number], lambda tensors: tf.constant(1.0), 4)

    def some_accepted():
        number, _ = _words(tf, epochs=None)
        accept = lambda tensors: tf.cast(tf.equal(tensors[0] % 3, 0), tf.float32)
        return training.rejection_sample([number], accept, 4)

    def one_class():
        number, _ = _words(tf, epochs=None)
        return training.stratified_sample(
            [number], number % 2, [0.0, 1.0], batch_size=5, init_probs=[0.5, 0.5]
        )

    return {
        "all": _through_queues(tf, all_accepted, 3),
        "some": _through_queues(tf, some_accepted, 3),
        "one_class": _through_queues(tf, one_class, 2),
    }


def case_sequences(tf):
    """Long sequences in pieces, with a state that goes on from one to the next."""

    def build():
        number = tf.train.input_producer(
            tf.range(3, 8), shuffle=False, num_epochs=1, capacity=1
        ).dequeue()
        batch = tf.contrib.training.batch_sequences_with_states(
            input_key=tf.as_string(number),
            input_sequences={"x": tf.reshape(tf.range(number * 2) + 10 * number, [-1, 2])},
            input_context={"c": number},
            input_length=None,
            initial_states={"sum": tf.constant([0, 0])},
            num_unroll=3,
            batch_size=1,
            num_threads=1,
        )
        state = batch.state("sum") + tf.reduce_sum(batch.sequences["x"], 1)
        with tf.control_dependencies([batch.save_state("sum", state)]):
            return {
                "state": tf.identity(state),
                "x": batch.sequences["x"],
                "c": batch.context["c"],
                "length": batch.length,
                "total": batch.total_length,
                "sequence": batch.sequence,
                "count": batch.sequence_count,
                "key": batch.key,
                "next": batch.next_key,
            }

    found = _through_queues(tf, build)
    return sorted(found, key=lambda batch: batch["key"].tolist())
