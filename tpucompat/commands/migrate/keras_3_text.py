"""Functions that a rewriting puts into a script, which then belong to it; {i} is one step of indentation."""

from __future__ import annotations

from tpucompat.commands.migrate.keras_3_text_batches import (
    COMPILED_LOSS as COMPILED_LOSS,
)
from tpucompat.commands.migrate.keras_3_text_batches import (
    EPOCHS_OF as EPOCHS_OF,
)
from tpucompat.commands.migrate.keras_3_text_batches import (
    FIRST_OF as FIRST_OF,
)
from tpucompat.commands.migrate.keras_3_text_batches import (
    PASSES as PASSES,
)
from tpucompat.commands.migrate.keras_3_text_batches import SAVED_MODEL_FILE
from tpucompat.commands.migrate.keras_3_text_batches import (
    STEPS_OF as STEPS_OF,
)
from tpucompat.commands.migrate.keras_3_text_batches import (
    UPDATE_METRICS as UPDATE_METRICS,
)

PREDICT_CLASSES = '''

def predict_classes(model, x, batch_size=None, verbose=0, steps=None):
{i}"""The most probable class of each example, or whether its one probability is above a half."""
{i}probabilities = model.predict(x, batch_size=batch_size, verbose=verbose, steps=steps)
{i}if probabilities.shape[-1] > 1:
{i}{i}return probabilities.argmax(axis=-1)
{i}return (probabilities > 0.5).astype('int32')
'''

RESET_STATES = '''

def reset_states(model):
{i}"""Begins new sequences in all stateful layers."""
{i}for layer in model.layers:
{i}{i}if hasattr(layer, 'reset_states'):
{i}{i}{i}layer.reset_states()
'''

COSINE = '''

@{keras}.utils.register_keras_serializable()
def cosine_of_angle(y_true, y_pred):
{i}"""The cosine, which Keras 3 has with the other sign."""
{i}return -{keras}.losses.cosine_similarity(y_true, y_pred)
'''

OF_PROBABILITIES = '''

def of_probabilities(loss):
{i}"""Gives a cross entropy the probabilities alone, not what their activation was given."""
{i}@functools.wraps(loss)
{i}def compute(y_true, y_pred):
{i}{i}return loss(y_true, {tf}.identity(y_pred))

{i}return compute
'''

BINARY_CROSSENTROPY = '''

@{keras}.utils.register_keras_serializable()
def binary_crossentropy_of_probabilities(y_true, y_pred):
{i}"""The mean over the units, from probabilities that no sigmoid has made."""
{i}tiny = {keras}.backend.epsilon()
{i}y_true, y_pred = {tf}.cast(y_true, y_pred.dtype), {tf}.clip_by_value(y_pred, tiny, 1 - tiny)
{i}found = y_true * {tf}.math.log(y_pred + tiny) + (1 - y_true) * {tf}.math.log(1 - y_pred + tiny)
{i}return -{tf}.reduce_mean(found, axis=-1)
'''

METRICS_NAMES = '''

def metrics_names(model):
{i}"""The names of what evaluate returns, in its order."""
{i}try:
{i}{i}found = model.get_metrics_result()
{i}except ValueError:  # nothing has been computed yet
{i}{i}given = model.get_compile_config()['metrics'] or []
{i}{i}outputs = getattr(model, 'output_names', None) or ['']
{i}{i}if not isinstance(given, dict):
{i}{i}{i}each = len(outputs) > 1 and any(isinstance(one, list) for one in given)
{i}{i}{i}given = dict(zip(outputs, given if each else [given] * len(outputs)))
{i}{i}heads = [name + '_' if len(outputs) > 1 else '' for name in outputs]
{i}{i}names = ['loss', *(head + 'loss' for head in heads if head)]
{i}{i}for name, head in zip(outputs, heads):
{i}{i}{i}metrics = given.get(name) or []
{i}{i}{i}for one in metrics if isinstance(metrics, list) else [metrics]:
{i}{i}{i}{i}one = one if isinstance(one, str) else one['config']
{i}{i}{i}{i}names.append(head + (one if isinstance(one, str) else one['name']))
{i}{i}return names
{i}known = [
{i}{i}one.name
{i}{i}for metric in model.metrics
{i}{i}for one in (getattr(metric, 'metrics', None) or [metric])
{i}]
{i}names = [name for name in dict.fromkeys(known) if name in found]
{i}return names + sorted(set(found) - set(names))
'''

IN_ORDER = '''

def in_order(model, values):
{i}"""What evaluate returns, each value once, metrics in the order of the outputs that they are of."""
{i}if not isinstance(values, list):
{i}{i}return values
{i}try:
{i}{i}found = model.get_metrics_result()
{i}except ValueError:  # nothing has been computed yet
{i}{i}return values
{i}parts = [part for one in model.metrics for part in getattr(one, 'metrics', None) or [one]]
{i}known = [part.name for part in parts if part.name in found]  # one name may stand for two metrics
{i}names = known + sorted(set(found) - set(known))
{i}given = dict(zip(names, values))
{i}places = {{name: place for place, name in enumerate(getattr(model, 'output_names', ()))}}

{i}def place(name):
{i}{i}owners = [places[output] for output in places if name.startswith(output + '_')]
{i}{i}return owners[0] if owners else len(places)

{i}others = sorted((name for name in found if name not in known), key=place)
{i}known = list(dict.fromkeys(known))
{i}losses = [name for name in known if name == 'loss' or name.endswith('_loss')]
{i}added = [name for name in known if name not in losses]
{i}return [given[name] for name in [*losses, *others, *added]]
'''

LOGGING_LR = '''

def logging_lr(callback):
{i}"""Lets a callback log the learning rate as lr, which Keras 3 calls learning_rate."""
{i}log = callback.on_epoch_end

{i}def on_epoch_end(epoch, logs=None):
{i}{i}log(epoch, logs)
{i}{i}if logs is not None and 'learning_rate' in logs:
{i}{i}{i}rate = {numpy}.float32(logs.pop('learning_rate'))
{i}{i}{i}logs['lr'] = float(str(rate))  # a float that shows the digits of a float32

{i}callback.on_epoch_end = on_epoch_end
{i}return callback
'''

EPOCH_LOGGER = '''

class EpochLogger({keras}.callbacks.CSVLogger):
{i}"""Writes the columns of the first epoch; Keras 3 adds empty ones for a validation."""

{i}def on_epoch_end(self, epoch, logs=None):
{i}{i}if self.keys is None:
{i}{i}{i}self.keys = sorted(logs or {{}})
{i}{i}super().on_epoch_end(epoch, logs)
'''

RESTORING_IF_STOPPED = '''

class RestoringIfStopped({keras}.callbacks.EarlyStopping):
{i}"""Brings the best weights back where it stops a training; Keras 3 does so at each end."""

{i}def on_train_end(self, logs=None):
{i}{i}if not self.stopped_epoch:
{i}{i}{i}self.best_weights = None
{i}{i}super().on_train_end(logs)
'''

BEST_OF = '''

def best_of(callback):
{i}"""The best value that a callback has seen; before the first one, the worst there is."""
{i}if callback.best is not None:
{i}{i}return callback.best
{i}grows = callback.mode == 'max' or (callback.mode != 'min' and 'acc' in callback.monitor)
{i}return float('-inf' if grows else 'inf')
'''

BY_LINE = r'''

def by_line(function):
{i}"""Gives a function the lines of a summary, without what is drawn around them and sizes in bytes."""
{i}def show(text, *args, **kwargs):
{i}{i}for line in text.splitlines():
{i}{i}{i}function(re.sub(r'\(\d[\d.]* \w+\)$', '', line.strip(' │┃')).replace('│', ' ').strip())

{i}return show
'''

AS_COMPILED = '''

def as_compiled(training):
{i}"""The history of a training: losses, then metrics as they were compiled, then those of the validation."""
{i}model, outputs = training.model, list(getattr(training.model, 'output_names', ()))
{i}metrics = [part.name for one in model.metrics for part in getattr(one, 'metrics', None) or [one]]

{i}def place(name):
{i}{i}word = name[len('val_'):] if name.startswith('val_') else name
{i}{i}owner = next((one for one in outputs if word.startswith(one + '_')), '')
{i}{i}word = word[len(owner) + 1:] if owner else word
{i}{i}if word != 'loss' and word not in metrics:
{i}{i}{i}return (2,)  # what a callback logged
{i}{i}part = metrics.index(word) if word in metrics else 0
{i}{i}output = outputs.index(owner) + 1 if owner else 0
{i}{i}return name.startswith('val_'), word != 'loss', output, part

{i}return {{name: training.history[name] for name in sorted(training.history, key=place)}}
'''

BY_OUTPUT = '''

def by_output(model, values):
{i}"""Targets or weights in the order of a model's outputs, where a dictionary has them by name."""
{i}if not isinstance(values, dict):
{i}{i}return values
{i}values = [values.get(name) for name in getattr(model, 'output_names', values)]
{i}return values if len(values) > 1 else values[0]
'''

CLASS_WEIGHTS = '''

def weights_of_classes(model, targets, class_weight):
{i}"""A weight for each example of each output, by its class; ones for an output without weights."""
{i}if isinstance(targets, dict):
{i}{i}targets = [targets[name] for name in model.output_names]
{i}found = []
{i}for name, target in zip(model.output_names, map({numpy}.asarray, targets)):
{i}{i}is_one_hot = target.ndim > 1 and target.shape[-1] > 1
{i}{i}classes = target.argmax(axis=-1) if is_one_hot else target.reshape(len(target))
{i}{i}weights = class_weight.get(name)
{i}{i}found.append({numpy}.array([weights[int(one)] if weights else 1.0 for one in classes]))
{i}return found
'''

WEIGHTED_BATCHES = '''

def weighted_batches(batches, class_weight):
{i}"""The batches of a generator, each example with the weight of its class."""
{i}for x, y, *given in batches:
{i}{i}is_one_hot = {numpy}.ndim(y) > 1 and {numpy}.shape(y)[-1] > 1
{i}{i}classes = {numpy}.argmax(y, axis=-1) if is_one_hot else {numpy}.reshape(y, len(y))
{i}{i}weights = {numpy}.array([class_weight[int(one)] for one in classes])
{i}{i}yield x, y, weights * given[0] if given else weights
'''

GRADIENTS_OF_LOSS = '''

def gradients_of_loss(loss, variables):
{i}"""Pairs of gradients and variables of what a function gives."""
{i}with {tf}.GradientTape() as tape:
{i}{i}value = loss()
{i}variables = variables() if callable(variables) else variables
{i}return list(zip(tape.gradient(value, variables), variables))
'''

LATEST_WEIGHTS = '''

def latest_weights(folder):
{i}"""The newest file of weights in a folder, or None."""
{i}files = tf.io.gfile.glob(os.path.join(folder, '*.weights.h5'))
{i}return max(files, key=os.path.getmtime, default=None)
'''

PERIODIC_CHECKPOINT = '''

class PeriodicCheckpoint({keras}.callbacks.ModelCheckpoint):
{i}"""Saves a model every `period` epochs."""

{i}def __init__(self, *args, period, **kwargs):
{i}{i}super().__init__(*args, **kwargs)
{i}{i}self.period, self.epochs_since_saving = period, 0

{i}def on_epoch_end(self, epoch, logs=None):
{i}{i}self.epochs_since_saving += 1
{i}{i}if self.epochs_since_saving >= self.period:
{i}{i}{i}self.epochs_since_saving = 0
{i}{i}{i}super().on_epoch_end(epoch, logs)
'''

NAME_OF = r'''

def name_of(variable):
{i}"""A variable's name behind that of its layer, as layer/kernel:0."""
{i}path = re.sub(r'^(.*/)?(SEQUENTIAL)(_\d+)?/', '', variable.path)
{i}return pathCELLS + ':0'
'''

STATE_NAME = r'''

def state_name(variable):
{i}"""The name of a variable of a metric, as total:0."""
{i}return variable.path.rpartition('/')[2] + ':0'
'''

HARD_SIGMOID = '''

@{keras}.utils.register_keras_serializable()
def hard_sigmoid(x):
{i}"""The one of Keras 1 and 2: a fifth of x plus one half."""
{i}return {tf}.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)
'''

RMSPROP = '''

@{keras}.utils.register_keras_serializable()
class OuterEpsilonRMSprop({keras}.optimizers.RMSprop):
{i}"""Adds epsilon to the square root, as Keras 2; Keras 3 adds it inside, which small gradients feel."""

{i}def update_step(self, gradient, variable, learning_rate):
{i}{i}place = self._get_variable_index(variable)
{i}{i}squares = self._velocities[place]
{i}{i}gradient = {tf}.cast(gradient, variable.dtype)
{i}{i}self.assign(squares, self.rho * squares + (1 - self.rho) * {tf}.square(gradient))
{i}{i}spread = squares
{i}{i}if self.centered:
{i}{i}{i}means = self._average_gradients[place]
{i}{i}{i}self.assign(means, self.rho * means + (1 - self.rho) * gradient)
{i}{i}{i}spread = squares - {tf}.square(means)
{i}{i}rate = {tf}.cast(learning_rate, variable.dtype)
{i}{i}self.assign_sub(variable, rate * gradient / ({tf}.sqrt(spread) + self.epsilon))


OuterEpsilonRMSprop.__name__ = 'RMSprop'  # what a script may print
'''

ADAGRAD = '''

@{keras}.utils.register_keras_serializable()
class OuterEpsilonAdagrad({keras}.optimizers.Adagrad):
{i}"""Adds epsilon to the square root, as Keras 2; Keras 3 adds it inside, which small gradients feel."""

{i}def update_step(self, gradient, variable, learning_rate):
{i}{i}squares = self._accumulators[self._get_variable_index(variable)]
{i}{i}gradient = {tf}.cast(gradient, variable.dtype)
{i}{i}self.assign_add(squares, {tf}.square(gradient))
{i}{i}rate = {tf}.cast(learning_rate, variable.dtype)
{i}{i}self.assign_sub(variable, rate * gradient / ({tf}.sqrt(squares) + self.epsilon))


OuterEpsilonAdagrad.__name__ = 'Adagrad'  # what a script may print
'''

#: Optimizers that add epsilon to a square root.
OUTER_EPSILON = {"RMSprop": RMSPROP, "Adagrad": ADAGRAD}

DECAYING = '''

def decaying(optimizer, decay):
{i}"""Divides the rate of each step by 1 + decay * steps, as Keras 2; the rate itself may be set."""
{i}update = optimizer.update_step

{i}def update_step(gradient, variable, learning_rate):
{i}{i}steps = {tf}.cast(optimizer.iterations, {tf}.float32)
{i}{i}update(gradient, variable, {tf}.cast(learning_rate, {tf}.float32) / (1 + decay * steps))

{i}optimizer.update_step = update_step
{i}return optimizer
'''

OPTIMIZER_OF = '''

def optimizer_of(identifier):
{i}"""The optimizer that TensorFlow 1 made of a text, where Keras 3 makes another."""
{i}made = {{
LINES{i}}}
{i}return made.get(str(identifier).lower(), lambda: identifier)()
'''

WITH_OUTER_EPSILON = '''

def with_outer_epsilon(optimizer):
{i}"""The class whose steps are those of TensorFlow 1, where Keras 3 has another of the same name."""
{i}return MADE if optimizer is {keras}.optimizers.RMSprop else optimizer
'''

OPTIMIZER_WITH = '''

def optimizer_with(make, *args, **settings):
{i}"""Makes an optimizer of settings that may have the names of Keras 2."""
{i}if 'learning_rate' not in inspect.signature(make).parameters:
{i}{i}return make(*args, **settings)  # a function that knows its own names
{i}if 'lr' in settings:
{i}{i}settings['learning_rate'] = settings.pop('lr')
{i}if settings.get('epsilon', 0) is None:
{i}{i}del settings['epsilon']
{i}decay = settings.pop('decay', 0)
{i}optimizer = make(*args, **settings)
{i}return decaying(optimizer, decay) if decay else optimizer
'''

OF_STEP = '''

def of_step(callback, name):
{i}"""The value of this step, or None; logs has the mean since the start of the epoch."""
{i}model = callback.model
{i}known = [metric for one in model.metrics for metric in getattr(one, 'metrics', None) or [one]]
{i}metric = next((metric for metric in known if metric.name == name), None)
{i}if metric is None:
{i}{i}return None
{i}now = float(metric.total.numpy()), float(metric.count.numpy())
{i}sums = callback.__dict__.setdefault('sums_of_steps', {{}})
{i}before, last = sums.get(name, ((0.0, 0.0), (0.0, 0.0)))
{i}if now != last:
{i}{i}before = last if now[1] > last[1] else (0.0, 0.0)  # of another epoch
{i}sums[name] = before, now
{i}return (now[0] - before[0]) / (now[1] - before[1])
'''

STEP_CALLBACK = '''

class StepCallback({keras}.callbacks.LambdaCallback):
{i}"""Calls a function with the loss of each step; logs has the mean since the start of the epoch."""

{i}def __init__(self, *args, on_batch_end, **kwargs):
{i}{i}super().__init__(*args, **kwargs)
{i}{i}self.function = on_batch_end

{i}def on_batch_end(self, batch, logs=None):
{i}{i}self.function(batch, {{**(logs or {{}}), 'batch': batch, 'loss': of_step(self, 'loss')}})
'''

DENSE_EMBEDDING = '''

@{tf}.custom_gradient
def with_dense_gradient(table):
{i}"""Sums the gradients of an entry that was looked up more than once."""
{i}return {tf}.identity(table), lambda gradient: {tf}.convert_to_tensor(gradient)


@{keras}.utils.register_keras_serializable()
class DenseEmbedding({keras}.layers.Embedding):
{i}"""An Embedding whose gradient is a whole table, which optimizers of Keras 3 square rightly."""

{i}def call(self, inputs):
{i}{i}table = with_dense_gradient({tf}.convert_to_tensor(self.embeddings))
{i}{i}return {tf}.gather(table, {tf}.cast(inputs, 'int32'))


DenseEmbedding.__name__ = 'Embedding'  # what layers without a name are named after
'''

AS_LAYER = '''

def as_layer(function):
{i}"""Lets a function of TensorFlow take tensors that stand for the inputs of a model."""
{i}def apply(*args, **kwargs):
{i}{i}given = {tf}.nest.flatten((args, kwargs))
{i}{i}symbolic = [one for one in given if isinstance(one, {keras}.KerasTensor)]
{i}{i}if not symbolic:
{i}{i}{i}return function(*args, **kwargs)

{i}{i}def compute(values):
{i}{i}{i}values = iter(values)
{i}{i}{i}filled = [next(values) if isinstance(one, {keras}.KerasTensor) else one for one in given]
{i}{i}{i}args_now, kwargs_now = {tf}.nest.pack_sequence_as((args, kwargs), filled)
{i}{i}{i}return function(*args_now, **kwargs_now)

NAMED{i}{i}return {keras}.layers.Lambda(compute)(symbolic)

{i}return apply
'''

NAMED_OPERATION = """\
{i}{i}compute.__name__ = f'operation_{{len({keras}.utils.get_custom_objects())}}'
{i}{i}{keras}.utils.register_keras_serializable()(compute)  # a model that is loaded finds it by its name
"""

REGISTERED = '''

def registered(function, name):
{i}"""Lets a model that is loaded find the function of a Lambda layer by a name."""
{i}function.__name__ = name
{i}return {keras}.utils.register_keras_serializable()(function)
'''

WITH_LOSS = '''

@{keras}.utils.register_keras_serializable()
class AddLoss({keras}.layers.Layer):
{i}"""Passes on its first input; the mean of the second is a loss of the model."""

{i}def call(self, inputs):
{i}{i}outputs, loss = inputs
{i}{i}self.add_loss({tf}.reduce_mean(loss))
{i}{i}return outputs

{i}def compute_output_shape(self, shapes):
{i}{i}return shapes[0]


def with_loss(model, loss):
{i}"""The model with one more loss, a tensor that was computed from its inputs."""
{i}first, *others = model.outputs
{i}outputs = [AddLoss()([first, loss]), *others]
{i}made = {keras}.Model(model.inputs, outputs if others else outputs[0], name=model.name)
{i}made.output_names = list(getattr(model, 'output_names', made.output_names))
{i}places = {{id(layer): place for place, layer in enumerate(model.layers)}}
{i}for layers in (made._operations, made._layers):  # where new ones stand behind the others
{i}{i}layers[:] = sorted(layers, key=lambda layer: places.get(id(layer), len(places)))
{i}return made
'''

WITH_COLUMNS = '''

def with_columns(function):
{i}"""Gives a loss or metric columns where Keras 3 has rows, and targets of the type of predictions."""
{i}@functools.wraps(function)
{i}def compute(y_true, y_pred):
{i}{i}y_true = {tf}.cast(y_true, y_pred.dtype)
{i}{i}columns = [{tf}.expand_dims(one, -1) if len(one.shape) == 1 else one for one in (y_true, y_pred)]
{i}{i}return function(*columns)

{i}return compute
'''

WITHOUT_PADDING = '''

def without_padding(decoded):
{i}"""What ctc_decode found, padded to the longest of it."""
{i}found, scores = decoded
{i}lengths = [{tf}.reduce_sum({tf}.cast(one >= 0, 'int32'), axis=-1) for one in found]
{i}return [one[:, :{tf}.reduce_max(length)] for one, length in zip(found, lengths)], scores
'''

OF_COLUMNS = '''

def of_columns(metric):
{i}"""Gives an object of a metric columns where Keras 3 has rows."""
{i}update = metric.update_state

{i}def update_state(y_true, y_pred, sample_weight=None):
{i}{i}columns = [{tf}.expand_dims(one, -1) if len(one.shape) == 1 else one for one in (y_true, y_pred)]
{i}{i}return update(*columns, sample_weight)

{i}metric.update_state = update_state
{i}return metric
'''

AS_COLUMN = '''

def as_column(x):
{i}"""A vector as a column, which Keras 2 made of it."""
{i}return x[:, None] if getattr(x, 'ndim', 0) == 1 else x
'''

FUNCTION = '''

def keras_function(inputs, outputs):
{i}"""Computes tensors of a model from others; a value behind the inputs says whether it trains."""
{i}model = {keras}.Model([one for one in inputs if one is not None], outputs)

{i}def compute(values):
{i}{i}count = len(model.inputs)
{i}{i}training = bool(values[count]) if len(values) > count else False
{i}{i}found = model([{tf}.convert_to_tensor(value) for value in values[:count]], training=training)
{i}{i}return [one.numpy() for one in {tf}.nest.flatten(found)]

{i}return compute
'''

LAYER_INPUT = '''

def layer_input(layer):
{i}"""What a layer is called with; an input layer has an output alone."""
{i}return layer.output if isinstance(layer, {keras}.layers.InputLayer) else layer.input
'''

ARCHITECTURE = '''

def architecture(text, custom_objects=None):
{i}"""The model of a text in JSON, which is not compiled."""
{i}described = json.loads(text)
{i}described.pop('compile_config', None)
{i}return {keras}.models.model_from_json(json.dumps(described), custom_objects)
'''

LAYER_OF = '''

def layer_of(config, custom_objects=None):
{i}"""The layer of a configuration that names the class alone."""
{i}name = config['class_name']
{i}made = (custom_objects or {{}}).get(name) or getattr({keras}.layers, name, None)
{i}if made is None or 'module' in config:
{i}{i}return {keras}.layers.deserialize(config, custom_objects)
{i}return made.from_config(config['config'])
'''

CLONE = '''

def uncompiled_clone(model, *args, **kwargs):
{i}"""A copy of a model with weights of its own, which is not compiled."""
{i}compiled, model.compiled = model.compiled, False
{i}try:
{i}{i}return {keras}.models.clone_model(model, *args, **kwargs)
{i}finally:
{i}{i}model.compiled = compiled
'''

#: What of a model is in a file -> (its name where it is written, its name where it is read).
FILES = {
    "weights": (
        '''

def weights_file(path):
{i}"""The name of a file of weights, which has to end in .weights.h5, in a folder that exists."""
{i}path = os.fspath(path)
{i}os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
{i}return path if path.endswith('.weights.h5') else os.path.splitext(path)[0] + '.weights.h5'
''',
        '''

def saved_weights_file(path):
{i}"""The name under which weights were saved: by this program, or by an older one."""
{i}return weights_file(path) if os.path.exists(weights_file(path)) else path
''',
    ),
    "model": (
        '''

def model_file(path):
{i}"""The name of a model's file, which has to end in .keras or .h5, in a folder that exists."""
{i}path = os.fspath(path)
{i}os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
{i}return path if path.endswith(('.keras', '.h5')) else os.path.splitext(path)[0] + '.keras'
''',
        SAVED_MODEL_FILE,
    ),
}
