"""The legacy example's model on ``tf.compat.v1`` Keras, as one writes it without tpucompat.

The yardstick of ``overhead.py`` and of the tests. Data, batches, model and callback are the legacy
example's own functions; what is written here is what tpucompat does for the script: Keras 2, the
graph world, and a model that is compiled and fitted as it is, with no TPU in between.
"""

from __future__ import annotations

import importlib.util
import json
import os

# TensorFlow 2.16 and later: Keras 2 instead of 3, chosen before tf.keras is touched. Earlier
# releases have Keras 2 anyway, and 2.15 without the package tf-keras fails with this switch.
if importlib.util.find_spec("tf_keras"):
    os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

LEGACY = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    "legacy_examples",
    "fashion_mnist_keras.py",
)


def main() -> None:
    """Trains as the example does; the flags are the example's."""
    spec = importlib.util.spec_from_file_location("example", LEGACY)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.tf = tf

    args = example.parse_args()
    tf.set_random_seed(args.seed)
    if args.float64:
        tf.keras.backend.set_floatx("float64")
    (x_train, y_train), (x_test, y_test) = example.load_data(args.data_dir)
    model = example.build_model(args.filters, args.dropout, args.batch_norm)
    model.compile(
        optimizer=tf.train.AdamOptimizer(learning_rate=1e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    with np.load(args.initial_weights) as weights:
        model.set_weights([weights[f"arr_{i}"] for i in range(len(weights.files))])
    step_losses = example.StepLosses()
    history = model.fit_generator(
        example.batches(x_train, y_train, args.batch_size, args.seed),
        steps_per_epoch=args.steps_per_epoch,
        epochs=args.epochs,
        validation_data=(x_test, y_test),
        callbacks=[step_losses],
    )
    with open(args.history, "w", encoding="utf-8") as stream:
        json.dump(
            {
                "step_loss": step_losses.losses,
                "step_time": step_losses.times,
                "epochs": {k: [float(v) for v in vs] for k, vs in history.history.items()},
            },
            stream,
        )


if __name__ == "__main__":
    main()
