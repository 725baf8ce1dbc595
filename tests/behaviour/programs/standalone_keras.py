"""Arguments, defaults and positions of the package ``keras``, as scripts of 2016 to 2019 wrote them: numbers as JSON."""

import json
import sys

import keras
import numpy as np
from keras import backend as K
from keras import optimizers
from keras.layers import *
from keras.models import Model, Sequential
from keras.regularizers import l2

IMAGE, SEQUENCE, VECTOR, BLOCK, FILM = (8, 8, 3), (6, 5), (5,), (6, 6, 6, 2), (3, 6, 6, 2)


class Attention(Layer):
    def build(self, input_shape):
        self.W = self.add_weight((input_shape[-1], 2), initializer="one", name="W")
        self.b = self.add_weight((2,), "b", initializer="zero")
        super(Attention, self).build(input_shape)

    def call(self, x):
        return K.dot(x, self.W) + self.b

    def compute_output_shape(self, input_shape):
        return (input_shape[0], 2)


LAYERS = [
    (IMAGE, lambda: Conv2D(4, 3, 3)),
    (IMAGE, lambda: Conv2D(4, 3)),
    (IMAGE, lambda: Conv2D(4, 3, strides=2)),
    (IMAGE, lambda: Conv2D(4, 3, nb_col=2)),
    (IMAGE, lambda: Conv2D(nb_filter=4, nb_row=3, nb_col=2, activation="relu")),
    (
        IMAGE,
        lambda: Convolution2D(
            4,
            3,
            2,
            border_mode="same",
            subsample=(2, 2),
            dim_ordering="tf",
            init="one",
            W_regularizer=l2(0.1),
            b_regularizer=l2(0.1),
            bias=False,
        ),
    ),
    (IMAGE, lambda: Deconvolution2D(4, 3, 2, output_shape=(None, 10, 9, 4))),
    (IMAGE, lambda: Deconvolution2D(4, 3, 2, (None, 10, 9, 4))),
    (IMAGE, lambda: Deconvolution2D(4, 3, 3, subsample=(2, 2), border_mode="same")),
    (IMAGE, lambda: SeparableConv2D(4, 3, 2, init="one")),
    (IMAGE, lambda: SeparableConvolution2D(4, 3, 3, border_mode="same", depth_multiplier=2)),
    (IMAGE, lambda: AtrousConvolution2D(4, 3, 3, atrous_rate=(2, 2))),
    (SEQUENCE, lambda: AtrousConvolution1D(4, 2, atrous_rate=2)),
    (IMAGE, lambda: LocallyConnected2D(4, 3, 2)),
    (IMAGE, lambda: LocallyConnected2D(4, 3, 3, subsample=(2, 2))),
    (SEQUENCE, lambda: LocallyConnected1D(nb_filter=4, filter_length=2, subsample_length=2)),
    (SEQUENCE, lambda: Convolution1D(4, 3, border_mode="same", subsample_length=2)),
    (BLOCK, lambda: Convolution3D(2, 3, 2, 2)),
    (BLOCK, lambda: Conv3D(2, kernel_dim1=3, kernel_dim2=2, kernel_dim3=2, border_mode="same")),
    (BLOCK, lambda: Conv3D(2, 3, kernel_dim2=2, kernel_dim3=1)),
    (FILM, lambda: ConvLSTM2D(2, 3, 3, inner_activation="sigmoid", dropout_W=0.1)),
    (IMAGE, lambda: MaxPooling2D(pool_size=(2, 2), border_mode="same", dim_ordering="tf")),
    (SEQUENCE, lambda: MaxPooling1D(pool_length=2, stride=1)),
    (BLOCK, lambda: MaxPooling3D((2, 2, 2), dim_ordering="tf")),
    (IMAGE, lambda: GlobalAveragePooling2D(dim_ordering="th")),
    (SEQUENCE, lambda: UpSampling1D(length=3)),
    (IMAGE, lambda: UpSampling2D((2, 3), dim_ordering="tf")),
    (IMAGE, lambda: ZeroPadding2D((1, 2), dim_ordering="th")),
    (IMAGE, lambda: ZeroPadding2D(padding={"top_pad": 1, "left_pad": 2})),
    (IMAGE, lambda: ZeroPadding2D({"bottom_pad": 1})),
    (IMAGE, lambda: Cropping2D(((1, 1), (2, 0)), dim_ordering="tf")),
    (
        VECTOR,
        lambda: Dense(
            output_dim=3,
            init="uniform",
            W_regularizer=l2(0.1),
            W_constraint="maxnorm",
            b_constraint="nonneg",
            bias=False,
        ),
    ),
    (
        SEQUENCE,
        lambda: LSTM(
            output_dim=3,
            init="one",
            inner_init="zero",
            inner_activation="sigmoid",
            forget_bias_init="one",
            dropout_W=0.1,
            dropout_U=0.2,
            consume_less="gpu",
        ),
    ),
    (SEQUENCE, lambda: LSTM(3, W_regularizer=l2(0.1), U_regularizer=l2(0.1))),
    (SEQUENCE, lambda: GRU(output_dim=3, consume_less="cpu", return_sequences=True)),
    (SEQUENCE, lambda: SimpleRNN(3, init="one", consume_less="mem")),
    ((7,), lambda: Embedding(10, 4, init="one", W_regularizer=l2(0.1), dropout=0.2)),
    (VECTOR, lambda: BatchNormalization(mode=0, beta_init="one", gamma_init="zero")),
    (IMAGE, lambda: SpatialDropout2D(p=0.3, dim_ordering="tf")),
    (VECTOR, lambda: GaussianNoise(sigma=0.3)),
    (VECTOR, lambda: PReLU(init="one")),
    (VECTOR, lambda: Attention()),
]
SHAPES = [
    lambda: Convolution1D(4, 3, input_dim=5, input_length=6),
    lambda: LocallyConnected1D(3, 2, input_dim=5, input_length=6),
    lambda: LSTM(3, input_dim=5, input_length=6),
    lambda: GRU(output_dim=3, input_dim=5),
]
OPTIMIZERS = [
    *("sgd", "rmsprop", "adagrad", "adadelta", "adam", "adamax", "nadam"),
    lambda: optimizers.Adadelta(),
    lambda: optimizers.Adagrad(),
    lambda: optimizers.Adamax(),
    lambda: optimizers.Nadam(),
    lambda: optimizers.SGD(0.01, 0.9, 1e-2, True),
    lambda: optimizers.RMSprop(0.01, 0.8, 1e-3, 0.1),
    lambda: optimizers.Adam(0.01, 0.8, 0.99, 1e-3, 0.1, True),
    lambda: optimizers.Adagrad(0.1, 1e-3, 0.1),
    lambda: optimizers.Adadelta(lr=0.5, decay=0.1),
    lambda: optimizers.SGD(0.1, clipnorm=0.1),
]


def applied(shape, make):
    """Shapes of outputs and weights, two sums of the outputs, and the penalty."""
    K.clear_session()
    model = Sequential([InputLayer(shape), make()])
    random = np.random.RandomState(0)
    model.set_weights([random.rand(*weights.shape) for weights in model.get_weights()])
    x = random.randint(0, 9, (2,) + shape) if shape == (7,) else random.rand(2, *shape)
    y = model.predict(x)
    penalty = float(sum(K.get_value(one) for one in model.losses)) if model.losses else 0.0
    sums = [float(y.sum()), float((y.ravel() * np.cos(np.arange(y.size))).sum())]
    return [list(y.shape), [list(weights.shape) for weights in model.get_weights()], sums, penalty]


def trained(optimizer):
    """The losses of three epochs, and a weight after them."""
    K.clear_session()
    random = np.random.RandomState(0)
    x, y = random.rand(16, 3), random.rand(16, 1)
    model = Sequential([Dense(1, input_shape=(3,))])
    model.set_weights([np.full((3, 1), 0.3), np.zeros(1)])
    model.compile(optimizer if isinstance(optimizer, str) else optimizer(), "mse")
    losses = model.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0).history["loss"]
    return [*map(float, losses), float(model.get_weights()[0][0, 0])]


class Counting(keras.callbacks.Callback):
    count = 0

    def on_batch_end(self, batch, log={}):
        Counting.count += 1


def methods():
    """What models do with arguments by old names."""
    K.clear_session()
    inputs = Input((5,))
    model = Model(input=inputs, output=Dense(1)(inputs))
    model.compile("sgd", "mse")
    x, y = np.ones((16, 5)), np.ones((16, 1))

    def batches():
        while True:
            yield x[:4], y[:4]

    epochs = len(model.fit(x, y, nb_epoch=2, verbose=0).history["loss"])
    history = model.fit_generator(
        batches(),
        samples_per_epoch=3,
        nb_epoch=2,
        validation_data=batches(),
        nb_val_samples=2,
        nb_worker=1,
        max_q_size=2,
        pickle_safe=False,
        verbose=0,
        callbacks=[Counting()],
    )
    rows = [
        len(model.predict_generator(batches(), val_samples=3)),
        len(model.predict_generator(batches(), 2, 5)),
    ]
    return [epochs, len(history.history["val_loss"]), Counting.count, *rows]


def main():
    results = {
        "layers": [applied(*each) for each in LAYERS],
        "shapes": [list(Sequential([make()]).output_shape) for make in SHAPES],
        "optimizers": [trained(each) for each in OPTIMIZERS],
        "methods": methods(),
        "input": list(K.int_shape(Input(None, (2, 3)))),
    }
    with open(sys.argv[1], "w") as file:
        json.dump(results, file)


main()
