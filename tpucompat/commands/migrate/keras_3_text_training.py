"""What migrate writes into scripts for weights and optimizers of models that train on."""

from __future__ import annotations

LOAD_LAYERS = '''

def load_layers(model, filepath):
{i}"""Loads weights and leaves the optimizer as it is, as Keras 2 did."""
{i}variables = getattr(getattr(model, 'optimizer', None), 'variables', [])
{i}values = [variable.numpy() for variable in variables]
{i}model.load_weights(filepath)
{i}for variable, value in zip(variables, values):
{i}{i}variable.assign(value)
'''

NORMALIZE_BY_BATCH = '''

@{keras}.utils.register_keras_serializable()
class ByBatch({keras}.layers.BatchNormalization):
{i}"""Normalizes by the batch where it is frozen too, as in TensorFlow 1, without new averages."""

{i}def call(self, inputs, training=None, mask=None):
{i}{i}if not training or self.trainable:
{i}{i}{i}return super().call(inputs, training=training, mask=mask)
{i}{i}axes = [axis for axis in range(len(inputs.shape)) if axis != self.axis % len(inputs.shape)]
{i}{i}mean, variance = {tf}.nn.moments({tf}.cast(inputs, 'float32'), axes)
{i}{i}return {keras}.ops.batch_normalization(
{i}{i}{i}inputs, mean, variance, self.axis, self.beta, self.gamma, self.epsilon)


def normalize_by_batch(layer):
{i}"""Makes the batch normalization of a layer or model a ByBatch."""
{i}for one in getattr(layer, 'layers', []):
{i}{i}normalize_by_batch(one)
{i}if type(layer) is {keras}.layers.BatchNormalization:
{i}{i}layer.__class__ = ByBatch
'''

KEEP_TRAINABLE = '''

def keep_trainable(model):
{i}"""Lets a model train the weights that are trainable now, whatever is set later."""
{i}def parts(one):
{i}{i}yield one
{i}{i}for layer in getattr(one, 'layers', ()):
{i}{i}{i}yield from parts(layer)

{i}def mark(states):
{i}{i}for one, trainable in states:
{i}{i}{i}one.trainable = trainable

{i}compiled = [(one, one.trainable) for one in parts(model)]

{i}def keeping(method):
{i}{i}@functools.wraps(method)
{i}{i}def train(*args, **kwargs):
{i}{i}{i}now = [(one, one.trainable) for one, _ in compiled]
{i}{i}{i}mark(compiled)
{i}{i}{i}try:
{i}{i}{i}{i}return method(model, *args, **kwargs)
{i}{i}{i}finally:
{i}{i}{i}{i}mark(now)

{i}{i}return train

{i}model.fit, model.train_on_batch = keeping(type(model).fit), keeping(type(model).train_on_batch)
'''

SHARE_OPTIMIZER = '''

def share_optimizer(optimizer, *models):
{i}"""Lets one optimizer train the weights of several models."""
{i}weights = {{id(weight): weight for model in models for weight in model.weights}}
{i}optimizer.build(list(weights.values()))
'''

WITH_METRIC = '''

@{keras}.utils.register_keras_serializable()
class AddMetric({keras}.layers.Layer):
{i}"""Passes on its first input, and logs the mean of the second."""

{i}def __init__(self, metric, **kwargs):
{i}{i}super().__init__(**kwargs)
{i}{i}self.metric = {keras}.metrics.Mean(name=metric)

{i}def get_config(self):
{i}{i}return {{**super().get_config(), 'metric': self.metric.name}}

{i}def call(self, inputs):
{i}{i}outputs, value = inputs
{i}{i}self.metric.update_state(value)
{i}{i}return outputs

{i}def compute_output_shape(self, shapes):
{i}{i}return shapes[0]


def with_metric(model, value, name):
{i}"""The model with one more metric, the mean of a tensor that was computed from its inputs."""
{i}first, *others = model.outputs
{i}outputs = [AddMetric(name)([first, value]), *others]
{i}made = {keras}.Model(model.inputs, outputs if others else outputs[0], name=model.name)
{i}made.output_names = list(getattr(model, 'output_names', made.output_names))
{i}places = {{id(layer): place for place, layer in enumerate(model.layers)}}
{i}for layers in (made._operations, made._layers):  # where new ones stand behind the others
{i}{i}layers[:] = sorted(layers, key=lambda layer: places.get(id(layer), len(places)))
{i}return made
'''

MODEL_GRADIENTS = '''

class Gradients({keras}.layers.Layer):
{i}"""The gradients of what a part of a model computes, by what it is given."""

{i}def __init__(self, part):
{i}{i}super().__init__()
{i}{i}self.part = part

{i}def call(self, values, training=None):
{i}{i}with {tf}.GradientTape() as tape:
{i}{i}{i}tape.watch(values)
{i}{i}{i}found = self.part(values, training=training)
{i}{i}return tape.gradient(found, values)


def model_gradients(loss, tensors):
{i}"""The gradients of a tensor of a model by others that it is computed from."""
{i}tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]

{i}def of_calls(tensor):
{i}{i}layer, _, place = tensor._keras_history
{i}{i}return [node.output_tensors[place] for node in reversed(layer._inbound_nodes)]

{i}for one in zip(*map(of_calls, tensors)):  # a Sequential calls its layers again for each that is added
{i}{i}try:
{i}{i}{i}part = {keras}.Model(list(one), loss)
{i}{i}except ValueError:  # of another call
{i}{i}{i}continue
{i}{i}return list(Gradients(part)(list(one)))
{i}raise ValueError('The loss does not depend on these tensors.')
'''

NEXT_NAME = '''

def next_name(word):
{i}"""The name that Keras 2 gave the next one without a name: input_1 and input_2, model and model_1."""
{i}number = {keras}.backend.get_uid(word)
{i}if word == 'input':
{i}{i}return f'input_{{number}}'
{i}return word if number == 1 else f'{{word}}_{{number - 1}}'
'''

INPUT_NAMES = '''

def input_names(model):
{i}"""The names of a model's inputs; that of a Sequential without an input layer is its first layer's."""
{i}made = model.layers[0].name + '_input'
{i}own = ('keras_tensor', 'input_layer')
{i}return [made if one.name.startswith(own) else one.name for one in model.inputs]
'''

SHAPE_OF = '''

def shape_of(layer, which):
{i}"""The shape of a layer's input or output; of several tensors, and of an input layer, a list."""
{i}is_input = isinstance(layer, {keras}.layers.InputLayer)
{i}found = getattr(layer, 'output' if is_input else which)
{i}shapes = [tuple(one.shape) for one in {tf}.nest.flatten(found)]
{i}return shapes if is_input or isinstance(found, (list, tuple)) else shapes[0]
'''

SET_VALUES = '''

def set_values(pairs):
{i}"""Gives each of some variables its value."""
{i}for variable, value in pairs:
{i}{i}variable.assign(value)
'''

METRIC_FUNCTION = '''

def metric_function(identifier):
{i}"""The function that has a name, as metrics.get gave it in Keras 2; else what it gives."""
{i}def accuracy(y_true, y_pred):
{i}{i}return {tf}.cast({tf}.equal(y_true, y_pred), {keras}.backend.floatx())

{i}def binary_accuracy(y_true, y_pred, threshold=0.5):
{i}{i}equal = {keras}.metrics.binary_accuracy(y_true, y_pred, threshold)
{i}{i}return {tf}.reduce_mean(equal, axis=-1)

{i}if not isinstance(identifier, str):
{i}{i}return {keras}.metrics.get(identifier)
{i}known = {{**vars({keras}.losses), **vars({keras}.metrics)}}
{i}known.update(accuracy=accuracy, binary_accuracy=binary_accuracy)
{i}found = known.get(identifier)
{i}if found is None and identifier.startswith('mean_'):
{i}{i}found = {keras}.losses.get(identifier)
{i}is_function = callable(found) and not isinstance(found, type)
{i}return found if is_function else {keras}.metrics.get(identifier)
'''

CROSSENTROPY_BY_ACTIVATION = '''

def crossentropy_by_activation(name):
{i}"""A cross entropy of probabilities, unless its own activation has made them."""
{i}loss = getattr({keras}.losses, name)
{i}activation = 'Sigmoid' if name == 'binary_crossentropy' else 'Softmax'

{i}@functools.wraps(loss)
{i}def compute(y_true, y_pred):
{i}{i}made = getattr(getattr(y_pred, 'op', None), 'type', '')
{i}{i}if made == activation and (name != 'categorical_crossentropy' or len(y_pred.shape) < 3):
{i}{i}{i}return loss(y_true, y_pred)
{i}{i}if name == 'binary_crossentropy':
{i}{i}{i}return binary_crossentropy_of_probabilities(y_true, y_pred)
{i}{i}return loss(y_true, {tf}.identity(y_pred))

{i}return compute
'''

LOSS_OF = '''

def loss_of(identifier):
{i}"""A loss, or those of several outputs, by the names of Keras 2 too."""
{i}if isinstance(identifier, dict):
{i}{i}return {{output: loss_of(one) for output, one in identifier.items()}}
{i}if isinstance(identifier, (list, tuple)):
{i}{i}return [loss_of(one) for one in identifier]
{i}known = {{
LINES{i}}}
{i}return known.get(identifier, identifier) if isinstance(identifier, str) else identifier
'''

ACCURACY_OF = '''

def accuracy_of(loss):
{i}"""The accuracy that TensorFlow 1 chose by the loss."""
{i}name = getattr(loss, 'name', getattr(loss, '__name__', loss))
{i}return {keras}.metrics.BinaryAccuracy('acc') if name == 'binary_crossentropy' else 'acc'
'''

WORD_OF = '''

def KIND_of(identifier):
{i}"""The KIND that Keras 2 knew by a name."""
{i}known = {{
LINES{i}}}
{i}return known.get(identifier, identifier) if isinstance(identifier, str) else identifier
'''

METRIC_OF = '''

def metric_of(identifier):
{i}"""A metric, or those of a list or of several outputs, by the names of Keras 2 too."""
{i}if isinstance(identifier, dict):
{i}{i}return {{output: metric_of(one) for output, one in identifier.items()}}
{i}if isinstance(identifier, (list, tuple)):
{i}{i}return [metric_of(one) for one in identifier]
{i}known = {{
LINES{i}}}
{i}return known[identifier]() if isinstance(identifier, str) and identifier in known else identifier
'''

BY_ROWS = '''

def by_rows(optimizer):
{i}"""Moves the entries of a table that are in the batch, as TensorFlow 1; momentum moves no others."""
{i}update = optimizer.update_step

{i}def update_step(gradient, variable, learning_rate):
{i}{i}whole = {tf}.convert_to_tensor(gradient)
{i}{i}if isinstance(gradient, {tf}.IndexedSlices):
{i}{i}{i}ones = {tf}.cast(gradient.indices >= 0, 'int32')
{i}{i}{i}moves = {tf}.math.unsorted_segment_sum(ones, gradient.indices, {tf}.shape(whole)[0]) > 0
{i}{i}elif 'embeddings' in variable.name:  # whose layer has summed them
{i}{i}{i}moves = {tf}.reduce_any({tf}.not_equal(whole, 0), axis=list(range(1, len(whole.shape))))
{i}{i}else:
{i}{i}{i}return update(gradient, variable, learning_rate)
{i}{i}place = optimizer._get_variable_index(variable)
{i}{i}of_each = [one for one in vars(optimizer).values() if isinstance(one, list) and one]
{i}{i}of_each = [one for one in of_each if one is not optimizer._trainable_variables]
{i}{i}count = len(optimizer._trainable_variables)
{i}{i}kept = [variable] + [one[place] for one in of_each if len(one) == count]
{i}{i}before = [{tf}.identity({tf}.convert_to_tensor(one)) for one in kept]
{i}{i}update(whole, variable, learning_rate)
{i}{i}moves = {tf}.reshape(moves, [-1] + [1] * (len(whole.shape) - 1))
{i}{i}for one, value in zip(kept, before):
{i}{i}{i}optimizer.assign(one, {tf}.where(moves, {tf}.convert_to_tensor(one), value))

{i}optimizer.update_step = update_step
{i}return optimizer
'''
