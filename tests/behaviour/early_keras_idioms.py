"""Keras of TensorFlow 2.0 to 2.4, as notebooks for TPUs had it: one script for each idiom."""

from __future__ import annotations

import keras_idioms

_START = """\
try:
    tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(tpu)
    tf.tpu.experimental.initialize_tpu_system(tpu)
    strategy = tf.distribute.experimental.TPUStrategy(tpu)
except ValueError:
    strategy = tf.distribute.get_strategy()
AUTO = tf.data.experimental.AUTOTUNE
"""
_MODEL = (
    _START
    + """\
def build(last=1, activation='sigmoid'):
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(8, activation='tanh', input_shape=(10,)),
        tf.keras.layers.Dense(last, activation=activation)])
    return weigh(model)

def fit(model, **more):
    return model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, **more)

with strategy.scope():
    model = build()
"""
)
_BODIES = {
    "metric_words": _MODEL
    + """\
model.compile('adam', 'binary_crossentropy', metrics=[
    'AUC', 'accuracy', 'Precision', 'mse', 'kullback_leibler_divergence', 'MeanSquaredError', 'TruePositives'])
h = fit(model, validation_data=(x, y))
report(h.history, sorted(h.history))
print('best', max(h.history['val_auc']))
""",
    "metric_objects": _MODEL
    + """\
metrics = [tf.keras.metrics.KLDivergence(), tf.keras.metrics.AUC(name='auc'), tf.keras.metrics.LogCoshError()]
model.compile('adam', 'binary_crossentropy', metrics=metrics)
report(fit(model).history)
""",
    "callbacks": _MODEL
    + """\
model.compile(tf.keras.optimizers.SGD(0.1), 'mse', metrics=['mae'])
class Own(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        print('RESULT', json.dumps([batch, float(logs['loss'])]))
    def on_epoch_end(self, epoch, logs=None):
        print('RESULT', json.dumps([epoch, sorted(logs), float(logs['lr'])]))
        if logs.get('mae') < 0.1:
            self.model.stop_training = True
h = fit(model, validation_data=(x, y), callbacks=[
    tf.keras.callbacks.LearningRateScheduler(lambda epoch, lr: lr * 0.5),
    tf.keras.callbacks.ReduceLROnPlateau(monitor='val_loss', factor=0.1, patience=1, min_lr=1e-5, verbose=0),
    tf.keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True), Own(),
    tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: report(float(logs['val_loss']))),
    tf.keras.callbacks.CSVLogger('log.csv'),
    tf.keras.callbacks.TensorBoard('tb', update_freq='epoch', profile_batch=0)])
report(h.history['lr'], h.history, h.epoch)
print('RESULT', json.dumps(open('log.csv').read().split()[0]))
""",
    "saved_models": _MODEL
    + """\
model.compile('adam', 'mse')
fit(model)
model.save('whole.h5')
model.save('folder')
for name in ('whole.h5', 'folder'):
    report(tf.keras.models.load_model(name).predict(x))
""",
    "saved_folder_serving": _MODEL
    + """\
model.save('export/1', save_format='tf')
loaded = tf.saved_model.load('export/1')
report(list(loaded.signatures['serving_default'](tf.constant(x)).values())[0].numpy())
""",
    "transformer": _START
    + """\
def positional(position, d_model):
    powers = (2 * (np.arange(d_model)[np.newaxis, :] // 2)) / np.float32(d_model)
    angles = np.arange(position)[:, np.newaxis] / np.power(10000, powers)
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return tf.cast(angles[np.newaxis, ...], dtype=tf.float32)
class MultiHeadAttention(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super(MultiHeadAttention, self).__init__()
        self.num_heads = num_heads
        self.d_model = d_model
        self.depth = d_model // self.num_heads
        self.wq = tf.keras.layers.Dense(d_model, kernel_initializer='glorot_uniform')
        self.wk = tf.keras.layers.Dense(d_model)
        self.wv = tf.keras.layers.Dense(d_model)
    def split_heads(self, x, batch_size):
        x = tf.reshape(x, (batch_size, -1, self.num_heads, self.depth))
        return tf.transpose(x, perm=[0, 2, 1, 3])
    def call(self, v, k, q, mask):
        batch_size = tf.shape(q)[0]
        q, k, v = (self.split_heads(w(z), batch_size) for w, z in ((self.wq, q), (self.wk, k), (self.wv, v)))
        logits = tf.matmul(q, k, transpose_b=True) / tf.math.sqrt(tf.cast(tf.shape(k)[-1], tf.float32))
        if mask is not None:
            logits += (mask * -1e9)
        weights = tf.nn.softmax(logits, axis=-1)
        out = tf.transpose(tf.matmul(weights, v), perm=[0, 2, 1, 3])
        return tf.reshape(out, (batch_size, -1, self.d_model)), weights
class Net(tf.keras.Model):
    def __init__(self):
        super(Net, self).__init__()
        self.embedding = tf.keras.layers.Embedding(20, 8)
        self.pos_encoding = positional(10, 8)
        self.mha = MultiHeadAttention(8, 2)
        self.norm = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.dropout = tf.keras.layers.Dropout(0.0)
        self.final = tf.keras.layers.Dense(20)
    def call(self, x, training, mask):
        h = self.embedding(x) * tf.math.sqrt(tf.cast(8, tf.float32)) + self.pos_encoding[:, :tf.shape(x)[1], :]
        out, w = self.mha(h, h, h, mask)
        h = self.norm(h + self.dropout(out, training=training))
        return self.final(h), {'block': w}
tokens = ((np.arange(80).reshape(8, 10) * 7) % 20).astype('int64')
net = Net()
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction='none')
train_loss = tf.keras.metrics.Mean(name='train_loss')
optimizer = tf.keras.optimizers.Adam(0.01)
net(tokens, True, None)
weigh(net)
ckpt = tf.train.Checkpoint(net=net, optimizer=optimizer)
manager = tf.train.CheckpointManager(ckpt, './ck', max_to_keep=2)
@tf.function(input_signature=[tf.TensorSpec(shape=(None, None), dtype=tf.int64)])
def train_step(inp):
    mask = tf.cast(tf.math.equal(inp, 0), tf.float32)[:, tf.newaxis, tf.newaxis, :]
    with tf.GradientTape() as tape:
        predictions, _ = net(inp, True, mask)
        real = tf.roll(inp, 1, 1)
        loss_ = loss_object(real, predictions)
        m = tf.cast(tf.math.logical_not(tf.math.equal(real, 0)), dtype=loss_.dtype)
        loss = tf.reduce_sum(loss_ * m) / tf.reduce_sum(m)
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))
    train_loss(loss)
for epoch in range(4):
    train_loss.reset_states()
    train_step(tf.constant(tokens))
    report(train_loss.result())
    if (epoch + 1) % 2 == 0:
        print('RESULT', json.dumps(os.path.basename(manager.save())))
ckpt.restore(manager.checkpoints[0])
report(net(tokens, False, None)[0])
ckpt.restore(manager.latest_checkpoint)
report(net(tokens, False, None)[0])
""",
    "add_loss_vae": _START
    + """\
class Sampling(tf.keras.layers.Layer):
    def call(self, inputs):
        mean, log_var = inputs
        return mean + tf.exp(0.5 * log_var) * 0.1
inputs = tf.keras.Input((10,))
h = tf.keras.layers.Dense(6, activation='relu')(inputs)
mean, log_var = tf.keras.layers.Dense(2)(h), tf.keras.layers.Dense(2)(h)
z = Sampling()([mean, log_var])
outputs = tf.keras.layers.Dense(10)(z)
vae = weigh(tf.keras.Model(inputs, outputs))
kl = -0.5 * tf.reduce_mean(log_var - tf.square(mean) - tf.exp(log_var) + 1)
vae.add_loss(kl)
vae.add_metric(kl, name='kl', aggregation='mean')
vae.compile('adam', loss=tf.keras.losses.MeanSquaredError())
h = vae.fit(x, x, epochs=2, batch_size=8, shuffle=False, verbose=0)
report(h.history)
""",
    "recurrent": _START
    + """\
series = x.reshape(32, 5, 2)
cells = [tf.keras.layers.LSTMCell(3), tf.keras.layers.GRUCell(3)]
inputs = tf.keras.Input((5, 2))
h = tf.keras.layers.RNN(cells, return_sequences=True)(inputs)
h = tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(2))(h)
h = tf.keras.layers.Bidirectional(tf.keras.layers.GRU(3, reset_after=True), merge_mode='ave')(h)
h, sh, sc = tf.keras.layers.LSTM(2, return_state=True)(tf.keras.layers.RepeatVector(2)(h))
model = weigh(tf.keras.Model(inputs, tf.keras.layers.Concatenate()([h, sh, sc])))
model.compile(tf.keras.optimizers.RMSprop(0.01), tf.keras.losses.Huber())
h = model.fit(series, np.tile(y, (1, 6)), batch_size=8, epochs=2, shuffle=False, verbose=0)
report(h.history, model.predict(series))
""",
}
SCRIPTS = {name: keras_idioms.HEAD.format(imports="", body=body) for name, body in _BODIES.items()}
