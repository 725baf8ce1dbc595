"""Keras' layers by their arguments, losses, metrics and optimizers: what else a seed may depend on.

Derived from both APIs: each argument by which a layer builds other operations, with the values that decide it.
"""

_ROW, _ROWS, _IMAGE, _VIDEO = (8,), (6, 5), (8, 8, 3), (3, 8, 8, 2)


def _cells():
    for cell in ("LSTM", "GRU", "SimpleRNN"):
        for options in (
            {"dropout": 0.5},
            {"recurrent_dropout": 0.5},
            {"dropout": 0.5, "recurrent_dropout": 0.5, "return_sequences": True},
            {"dropout": 0.5, "unroll": True},
            {"dropout": 0.0},
            {"use_bias": False},
            {"go_backwards": True},
            {"kernel_regularizer": "l2", "activity_regularizer": "l1"},
        ):
            yield _ROWS, cell, (3,), options
    yield _ROWS, "LSTM", (3,), {"implementation": 2}
    for cell, options in (("LSTM", {}), ("GRU", {}), ("GRU", {"reset_after": True})):
        dropped = {"implementation": 2, "recurrent_dropout": 0.5}
        yield _ROWS, cell, (3,), {**dropped, **options}
        yield _ROWS, cell, (3,), {**dropped, "dropout": 0.5, **options}
    for options in ({}, {"reset_after": True}, {"use_bias": False}, {"dropout": 0.5}):
        yield _ROWS, "GRU", (3,), {"implementation": 2, **options}


def _layers():
    yield from _cells()
    for rate in (0, 0.5):
        yield _ROW, "Dropout", (rate,), {}
        yield _ROWS, "Dropout", (rate,), {"noise_shape": (None, 1, 5)}
        yield _ROWS, "Dropout", (rate,), {"noise_shape": (2, 1, 5)}
        yield _ROWS, "SpatialDropout1D", (rate,), {}
        yield _IMAGE, "SpatialDropout2D", (rate,), {}
        for noise in ("GaussianNoise", "GaussianDropout", "AlphaDropout"):
            yield _ROW, noise, (rate,), {}
        yield _VIDEO, "ConvLSTM2D", (2, 3), {"dropout": rate}
    yield _ROW, "Dropout", (0.5,), {"seed": 7}
    yield _ROW, "GaussianNoise", (0.5,), {}
    yield _VIDEO, "ConvLSTM2D", (2, 3), {"return_sequences": True, "padding": "same"}
    yield (None, 8, 8, 2), "ConvLSTM2D", (2, 3), {}
    for activation in ("relu", "elu", "selu", "softmax", "softsign", "hard_sigmoid", "exponential"):
        yield _ROW, "Dense", (3,), {"activation": activation}
    for shape in (_ROW, _ROWS, (None, 3), _VIDEO):
        for order in ("channels_first", "channels_last"):
            yield shape, "Flatten", (), {"data_format": order}
    for options in ({}, {"fused": False}, {"scale": False, "center": False}, {"renorm": True}):
        yield _IMAGE, "BatchNormalization", (), options
    for options in ({}, {"padding": "valid", "strides": 2}, {"use_bias": False}):
        yield _ROWS, "LocallyConnected1D", (2, 3), options
        yield _IMAGE, "LocallyConnected2D", (2, 3), options


def _name(shape, layer, arguments, options):
    given = [*map(repr, arguments), *(f"{key}={value!r}" for key, value in options.items())]
    return f"keras {layer}({', '.join(given)}) of {shape}"


def _called(shape, layer, arguments, options, training):
    def case(tf):
        tf.keras.backend.learning_phase()
        one = getattr(tf.keras.layers, layer)(*arguments, **options)
        given = {} if training is None else {"training": training}
        inputs = tf.keras.layers.Input(shape)
        one(inputs, **given)
        one(inputs, **given)  # the same layer, and the same seed if it was given one

    return case


#: Layers that ask whether they train.
_TRAIN = ("Dropout", "Noise", "Normalization", "LSTM", "GRU", "RNN")


def _of_layers():
    for one in _layers():
        yield _name(*one), _called(*one, training=None)
        if any(word in one[1] for word in _TRAIN):
            yield _name(*one) + ", training", _called(*one, training=True)


def _dot(shapes, axes, normalize):
    def case(tf):
        pair = [tf.keras.layers.Input(shape) for shape in shapes]
        tf.keras.layers.Dot(axes, normalize=normalize)(pair)

    return case


def _masked_average(tf):
    masked = tf.keras.layers.Masking()(tf.keras.layers.Input(_ROWS))
    tf.keras.layers.GlobalAveragePooling1D()(masked)


def _added_bias(shape, order):
    def case(tf):
        size = shape[-1] if order == "channels_last" else shape[0]
        x, bias = tf.placeholder(tf.float32, (None, *shape)), tf.placeholder(tf.float32, [size])
        tf.keras.backend.bias_add(x, bias, order)

    return case


def _weighted(loss, weights):
    def case(tf):
        values = tf.placeholder(tf.float32, [None, 3])
        given = None if weights is None else tf.placeholder(tf.float32, weights)
        getattr(tf.keras.losses, loss)()(values, values, given)

    return case


def _mean_of_products(truth, prediction):
    return (truth * prediction)[0, 0]  # a custom loss without dimensions


def _dense(tf, activation=None):
    return [
        tf.keras.layers.Dense(5, input_shape=(4,)),
        tf.keras.layers.Dense(3, activation=activation),
    ]


def _embedded(tf, **options):
    layers = tf.keras.layers
    return [layers.Embedding(9, 3, input_length=5, **options), layers.Flatten(), layers.Dense(2)]


def _trained(loss="mse", optimizer="sgd", metrics=(), activation=None, layers=None):
    """A model that is compiled, and trained one step: what a second model of the graph starts from."""

    def case(tf):
        made = optimizer if isinstance(optimizer, str) else optimizer(tf)
        model = tf.keras.Sequential(layers(tf) if layers else _dense(tf, activation))
        model.compile(made, loss, metrics=list(metrics))
        model._make_train_function()
        tf.keras.layers.Dense(2)(tf.keras.layers.Input((3,)))

    return case


#: Models by what else their training step computes.
_MODELS = {
    **{
        f"{cell} of masked words": lambda tf, cell=cell: [
            tf.keras.layers.Embedding(9, 3, mask_zero=True, input_length=5),
            getattr(tf.keras.layers, cell)(3),
        ]
        for cell in ("LSTM", "GRU", "SimpleRNN")
    },
    "LSTM of masked words, unrolled": lambda tf: [
        tf.keras.layers.Embedding(9, 3, mask_zero=True, input_length=5),
        tf.keras.layers.LSTM(3, unroll=True),
    ],
    **{
        f"Dense, {argument} {kind}": lambda tf, argument=argument, kind=kind: [
            tf.keras.layers.Dense(
                3, input_shape=(4,), **{argument: getattr(tf.keras.regularizers, kind)(0.1)}
            )
        ]
        for argument in ("kernel_regularizer", "activity_regularizer")
        for kind in ("l1", "l2", "l1_l2")
    },
    "Dense, a regularizer of 0": lambda tf: [
        tf.keras.layers.Dense(3, input_shape=(4,), kernel_regularizer=tf.keras.regularizers.l2(0.0))
    ],
    "Embedding, regularized": lambda tf: _embedded(tf, embeddings_regularizer="l2"),
}
_LOSSES = ("mse", "mae", "mape", "logcosh", "kld", "cosine_similarity", "hinge", "poisson")
_OPTIMIZERS = {
    **{
        name: lambda tf, name=name: getattr(tf.keras.optimizers, name)(decay=0.1, clipnorm=1.0)
        for name in ("Adam", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl")
    },
    "train.Adam": lambda tf: tf.train.AdamOptimizer(0.1),
    "train.GradientDescent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
}
#: Calls whose arguments, sizes or number of inputs decide which operations there are.
_CALLS = {
    **{
        f"keras LayerNormalization({options})": lambda tf, options=options: (
            tf.keras.layers.LayerNormalization(**options)(tf.keras.layers.Input((6, 6, 4)))
        )
        for options in (
            {"axis": 1},
            {"axis": -2, "gamma_regularizer": "l2"},
            {"axis": [2, 3]},
            {"center": False},
            {"scale": False, "center": False},
        )
    },
    **{
        f"keras BatchNormalization of virtual batches, training={training}": (
            lambda tf, training=training: tf.keras.layers.BatchNormalization(virtual_batch_size=2)(
                tf.keras.layers.Input((6,)), training=training
            )
        )
        for training in (False, True)
    },
    **{
        f"keras {name} of {count}": lambda tf, name=name, count=count: getattr(
            tf.keras.layers, name
        )()([tf.keras.layers.Input((3, 4))] * count)
        for name in ("Attention", "AdditiveAttention")
        for count in (2, 3)
    },
    **{
        f"keras TimeDistributed({name}), batches of {batch}": (
            lambda tf, name=name, batch=batch: tf.keras.layers.TimeDistributed(
                getattr(tf.keras.layers, name)(**({"units": 2} if name == "LSTM" else {}))
            )(tf.placeholder(tf.float32, (batch, 3, 4, 5)))
        )
        for name in ("LSTM", "BatchNormalization", "Flatten")
        for batch in (None, 2)
    },
    "keras backend.sqrt": lambda tf: tf.keras.backend.sqrt(tf.ones([2])),
    "keras backend.switch of rows": lambda tf: tf.keras.backend.switch(
        tf.constant([1, 0]), lambda: tf.ones([2, 3]), tf.zeros([2, 3])
    ),
    "keras losses.Huber, weighted": lambda tf: tf.keras.losses.Huber(0.5, reduction="sum")(
        tf.ones([2, 3]), tf.zeros([2, 3]), tf.ones([2])
    ),
    "keras experimental.LinearModel": lambda tf: tf.keras.experimental.LinearModel()(
        tf.keras.layers.Input((4,))
    ),
    "keras DenseFeatures": lambda tf: tf.keras.layers.DenseFeatures(
        [tf.feature_column.numeric_column("a")]
    )({"a": tf.placeholder(tf.float32, [None, 1])}),
    "keras experimental.SequenceFeatures": lambda tf: tf.keras.experimental.SequenceFeatures(
        [tf.feature_column.sequence_numeric_column("a")]
    )({"a": tf.SparseTensor([[0, 0]], [1.0], [2, 2])}),
}
CASES = {
    **dict(_of_layers()),
    **_CALLS,
    **{
        f"keras Dot({axes}, normalize={normalize}) of {shapes}": _dot(shapes, axes, normalize)
        for shapes, axes in (
            (((6, 5), (6, 5)), 2),
            (((6, 5), (6, 5)), (1, 1)),
            (((6, 5), (5, 4)), (2, 1)),
            (((6, 5), (4, 6)), (1, 2)),
            (((6, 5), (5,)), (2, 1)),
            (((6,), (6, 5)), 1),
            (((5,), (5,)), 1),
        )
        for normalize in (False, True)
    },
    "keras GlobalAveragePooling1D, masked": _masked_average,
    **{
        f"keras bias_add of {shape}, {order}": _added_bias(shape, order)
        for shape in ((3, 4), (3, 4, 5), (2, 3, 4, 5))
        for order in ("channels_first", "channels_last")
    },
    **{
        f"keras {loss} with weights {weights}": _weighted(loss, weights)
        for loss in ("MeanSquaredError", "Hinge")
        for weights in (None, (), (None,), (None, 1))
    },
    **{f"keras trained by {loss}": _trained(loss) for loss in _LOSSES},
    "keras trained by a loss without dimensions": _trained(_mean_of_products),
    "keras trained by probabilities": _trained(
        "categorical_crossentropy", "adam", ["acc", "top_k_categorical_accuracy"], "softmax"
    ),
    "keras trained by numbers of classes": _trained(
        "sparse_categorical_crossentropy", "adam", ["acc"], "softmax"
    ),
    **{
        f"keras trained with {name}": _trained(optimizer=made) for name, made in _OPTIMIZERS.items()
    },
    **{
        f"keras Embedding trained with {name}": _trained(optimizer=made, layers=_embedded)
        for name, made in _OPTIMIZERS.items()
    },
    **{f"keras trained: {name}": _trained(layers=made) for name, made in _MODELS.items()},
}
