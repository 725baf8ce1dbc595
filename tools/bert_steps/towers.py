"""google-research/bert's run_pretraining.py as eight towers of one TensorFlow 1.15 graph; no tpucompat here.

    python towers.py --towers 8 THE FLAGS OF run_pretraining.py

What eight TPU cores compute: each core takes a batch of its own, and clips its own gradients; the optimizer
gets their sum (CrossShardOptimizer adds up what it is given, and this program gives it gradients that
``compute_gradients`` has not divided: tensorflow_core/python/tpu/tpu_optimizer.py, 1.15). Run with the
program's folder on PYTHONPATH. Leaves a checkpoint of the last step in the output folder.
"""

from __future__ import annotations

import modeling
import optimization
import run_pretraining
import tensorflow as tf


class _OfTowers:
    """TensorFlow, but for the two functions that a tower computes for itself."""

    def __init__(self, losses):
        self._losses = losses

    def __getattr__(self, name):
        return getattr(tf, name)

    def gradients(self, loss, variables):
        del loss
        return [tf.gradients(each, variables) for each in self._losses]

    @staticmethod
    def clip_by_global_norm(gradients, clip_norm):
        clipped = [tf.clip_by_global_norm(each, clip_norm)[0] for each in gradients]
        return [tf.add_n(list(each)) for each in zip(*clipped)], None


def main(_):
    """Trains, and saves."""
    flags = tf.flags.FLAGS
    batch = flags.train_batch_size // flags.towers
    dataset = run_pretraining.input_fn_builder(
        [flags.input_file], flags.max_seq_length, flags.max_predictions_per_seq, is_training=True
    )({"batch_size": batch})
    given = dataset.batch(flags.towers).make_one_shot_iterator().get_next()

    losses = []
    create_optimizer = optimization.create_optimizer
    optimization.create_optimizer = lambda loss, *_: (losses.append(loss), tf.no_op())[1]
    model_fn = run_pretraining.model_fn_builder(
        modeling.BertConfig.from_json_file(flags.bert_config_file),
        flags.init_checkpoint,
        flags.learning_rate,
        flags.num_train_steps,
        flags.num_warmup_steps,
        use_tpu=False,
        use_one_hot_embeddings=True,
    )
    for tower in range(flags.towers):
        features = {name: value[tower] for name, value in given.items()}
        with tf.variable_scope(tf.get_variable_scope(), reuse=tower > 0):
            model_fn(features, None, tf.estimator.ModeKeys.TRAIN, {})
    optimization.tf = _OfTowers(losses)
    train = create_optimizer(
        None, flags.learning_rate, flags.num_train_steps, flags.num_warmup_steps, use_tpu=False
    )
    loss = losses[0]  # a TPU reports that of its first core
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(flags.num_train_steps):
            last, _ = session.run([loss, train])
        saver.save(session, flags.output_dir + "/model.ckpt", flags.num_train_steps)
    print(f"Loss for final step: {last}.")


if __name__ == "__main__":
    tf.flags.DEFINE_integer("towers", 8, "how many")
    tf.app.run()
