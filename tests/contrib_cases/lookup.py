"""tf.contrib.lookup."""

import os
import tempfile

from contrib_cases import session


def case_tables(tf):
    lookup = tf.contrib.lookup
    path = os.path.join(tempfile.mkdtemp(), "words")
    with open(path, "w") as file:
        file.write("brain\nsalad\nsurgery\n")
    with tf.Graph().as_default():
        words = tf.constant(["salad", "lake", "brain", "emerson"])
        ids = tf.constant([2, 0, 7], tf.int64)
        names = tf.constant(["brain", "salad", "surgery"])
        made = {
            "tensor": lookup.index_table_from_tensor(names).lookup(words),
            "buckets": lookup.index_table_from_tensor(names, num_oov_buckets=3).lookup(words),
            "keyword": lookup.index_table_from_tensor(
                mapping=names, default_value=9, name="t"
            ).lookup(words),
            "strong": lookup.index_table_from_tensor(
                names, num_oov_buckets=50, hasher_spec=lookup.StrongHashSpec((1, 2))
            ).lookup(words),
            "integers": lookup.index_table_from_tensor(
                tf.constant([5, 7], tf.int64), dtype=tf.int64
            ).lookup(ids),
            "file": lookup.index_table_from_file(path, num_oov_buckets=2).lookup(words),
            "file_part": lookup.index_table_from_file(path, vocab_size=1).lookup(words),
            "back": lookup.index_to_string_table_from_tensor(names).lookup(ids),
            "back_default": lookup.index_to_string_table_from_tensor(names, "?").lookup(ids),
            "back_file": lookup.index_to_string_table_from_file(path).lookup(ids),
            "hash": lookup.HashTable(
                lookup.KeyValueTensorInitializer(["a", "b"], [1.5, 2.5]), -1.0
            ).lookup(tf.constant(["b", "c"])),
            "text": lookup.HashTable(
                lookup.TextFileInitializer(
                    path,
                    tf.string,
                    lookup.TextFileIndex.WHOLE_LINE,
                    tf.int64,
                    lookup.TextFileIndex.LINE_NUMBER,
                ),
                -1,
            ).lookup(words),
        }
        table = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], [3]), 0)
        mutable = lookup.MutableHashTable(tf.string, tf.int64, -1)
        dense = lookup.MutableDenseHashTable(tf.int64, tf.float32, 0.5, empty_key=0, deleted_key=-1)
        insert = [
            mutable.insert(tf.constant(["x", "y"]), tf.constant([1, 2], tf.int64)),
            dense.insert(tf.constant([3], tf.int64), tf.constant([4.0])),
        ]
        later = {
            "mutable": mutable.lookup(tf.constant(["y", "z"])),
            "size": mutable.size(),
            "dense": dense.lookup(tf.constant([3, 5], tf.int64)),
            "exported": table.export(),
        }
        with session(tf) as sess:
            sess.run(table.init)
            results = {"made": sess.run(made)}
            sess.run(insert)
            results["later"] = sess.run(later)
    return results
