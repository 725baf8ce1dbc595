"""Unit tests in the manner of TensorFlow 1.15's own: its private modules, decorators, flags and runner."""

import os

import numpy as np
import tensorflow as tf
from absl import flags
from absl.testing import parameterized
from tensorflow.contrib.layers.python.ops import sparse_ops
from tensorflow.python.feature_column import dense_features, feature_column_lib
from tensorflow.python.framework import constant_op, test_util
from tensorflow.python.keras import keras_parameterized, testing_utils
from tensorflow.python.keras.layers import recurrent_v2
from tensorflow.python.keras.premade import linear
from tensorflow.python.ops import math_ops
from tensorflow.python.platform import test
from tensorflow.python.util import nest
from tensorflow_estimator.python.estimator import estimator as estimator_lib
from tensorflow_estimator.python.estimator import keras as keras_lib

FLAGS = flags.FLAGS
flags.DEFINE_integer("factor", 2, "What values are multiplied by.")


class GraphAndEagerTest(test.TestCase, parameterized.TestCase):
    @test_util.run_in_graph_and_eager_modes(reset_test=False)
    def test_both(self):
        factor = FLAGS["factor"].value  # pytest parses no flags
        product = math_ops.multiply(constant_op.constant([1.0, 2.0]), factor)
        self.assertAllClose([1.0 * factor, 2.0 * factor], self.evaluate(product))

    @tf.contrib.eager.run_test_in_graph_and_eager_modes()
    def test_both_by_contrib(self):
        self.assertAllEqual(6, self.evaluate(tf.constant(4) + 2))

    @parameterized.named_parameters(("one", 1.0), ("many", [1.0, 2.0]))
    @test_util.run_deprecated_v1
    def test_session(self, value):
        placeholder = tf.placeholder(tf.float32)
        with self.test_session() as session:
            self.assertAllClose(np.square(value), session.run(placeholder**2, {placeholder: value}))


class SparseTest(test.TestCase):
    def test_dense_to_sparse(self):
        sparse = sparse_ops.dense_to_sparse_tensor([[0, 3], [5, 0]])
        with self.cached_session() as session:
            values = session.run(sparse)
        self.assertAllEqual([[0, 1], [1, 0]], values.indices)
        self.assertAllEqual([3, 5], values.values)
        self.assertAllEqual([2, 2], values.dense_shape)

    def test_shared_table(self):
        lookup = tf.contrib.lookup
        tables = [
            lookup.HashTable(
                lookup.KeyValueTensorInitializer([name], [value]), -1, shared_name="one"
            )
            for name, value in (("a", 1), ("b", 2))
        ]
        with self.cached_session() as session:
            session.run(tables[0].init)
            found = session.run([table.lookup(tf.constant(["a", "b"])) for table in tables])
        self.assertAllEqual([[1, -1]] * 2, found)


class KerasTest(keras_parameterized.TestCase):
    @keras_parameterized.run_all_keras_modes
    @keras_parameterized.run_with_all_model_types(exclude_models="subclass")
    def test_fit(self):
        model = testing_utils.get_small_mlp(1, 2, input_dim=3)
        options = {
            "run_eagerly": testing_utils.should_run_eagerly(),
            "experimental_run_tf_function": testing_utils.should_run_tf_function(),
        }
        model.compile(tf.train.GradientDescentOptimizer(0.1), "mse", **options)
        history = model.fit(np.ones((4, 3)), np.zeros((4, 2)), epochs=2, verbose=0).history
        self.assertLen(history["loss"], 2)
        self.assertEqual("v2_eager" in self.id(), options["run_eagerly"])

    def test_structures(self):
        self.assertTrue(nest.is_sequence([1]))
        self.assertFalse(nest.is_sequence(1))


class EstimatorTest(test.TestCase):
    def test_best_exporter_of_a_new_process(self):
        folder = self.get_temp_dir()
        estimator_lib._write_dict_to_summary(os.path.join(folder, "eval"), {"loss": 50.0}, 1)
        exporter = tf.estimator.BestExporter(
            serving_input_receiver_fn=lambda: None, event_file_pattern="eval/*.tfevents.*"
        )
        estimator = test.mock.Mock(spec=estimator_lib.Estimator, model_dir=folder)
        estimator.export_saved_model.return_value = "path"
        for loss, exported in ((60.0, None), (40.0, "path"), (45.0, None)):
            result = exporter.export(estimator, folder, "checkpoint", {"loss": loss}, False)
            self.assertEqual(exported, result)

    def test_private_layers(self):
        self.assertEqual("model_to_estimator", keras_lib.model_to_estimator.__name__)
        self.assertEqual(["LSTM", "GRU"], [recurrent_v2.LSTM.__name__, recurrent_v2.GRU.__name__])
        with self.cached_session() as session:
            outputs = linear.LinearModel(units=2)(tf.ones([3, 4]))
            session.run(tf.global_variables_initializer())
            self.assertEqual((3, 2), session.run(outputs).shape)

    def test_dense_features(self):
        layer = dense_features.DenseFeatures([tf.feature_column.numeric_column("a")])
        self.assertIs(feature_column_lib.DenseFeatures, dense_features.DenseFeatures)
        with self.cached_session() as session:
            self.assertAllEqual([[1.0]], session.run(layer({"a": tf.constant([[1.0]])})))


if __name__ == "__main__":
    tf.test.main()
