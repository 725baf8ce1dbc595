"""What migrate writes into scripts for batches that are counted, and for steps of their own."""

from __future__ import annotations

EPOCHS_OF = '''

class EpochsOf({keras}.utils.Sequence):
{i}"""The batches of a Sequence, whose epochs end as they did; Keras 3 ends one before the first batch too."""

{i}def __init__(self, batches, trains=True, ends=True):
{i}{i}super().__init__()
{i}{i}self.batches, self.trains, self.ends, self.begun = batches, trains, ends, False
{i}{i}self.ahead = {{0: None, 1: None}}  # what is read before the first epoch, to learn its types

{i}def __len__(self):
{i}{i}return len(self.batches)

{i}def __getitem__(self, index):
{i}{i}if self.ahead.get(index) is not None:
{i}{i}{i}return self.ahead.pop(index)
{i}{i}batch = self.batches[index]
{i}{i}if index in self.ahead:
{i}{i}{i}self.ahead[index] = batch
{i}{i}return batch

{i}def on_epoch_end(self):
{i}{i}if self.begun and self.ends:
{i}{i}{i}self.batches.on_epoch_end()
{i}{i}self.begun = self.trains or not self.begun  # each evaluation is ended before it begins
'''

OF_ANY_SIZE = '''

def of_any_size(data):
{i}"""A Dataset of unknown length whose batches Keras counts as they come; on a TPU, it does so anyway."""
{i}def relaxed(part):
{i}{i}if not isinstance(part, {tf}.Tensor) or not part.shape.rank:
{i}{i}{i}return part
{i}{i}return {tf}.compat.v1.placeholder_with_default(part, [None, *part.shape[1:]])

{i}def without_size(*parts):
{i}{i}parts = {tf}.nest.map_structure(relaxed, parts)
{i}{i}return parts if len(parts) > 1 else parts[0]

{i}is_dataset = isinstance(data, {tf}.data.Dataset)
{i}if not is_dataset or {tf}.config.list_logical_devices('TPU'):
{i}{i}return data
{i}is_unknown = data.cardinality() == {tf}.data.UNKNOWN_CARDINALITY
{i}return data.map(without_size) if is_unknown else data
'''

PASSES = '''

def passes(batches, shuffle=False, ends=True, steps=None):
{i}"""The batches of a Sequence, one pass (of so many steps) after the other; those of a generator as is."""
{i}if not hasattr(batches, '__getitem__'):
{i}{i}yield from batches
{i}{i}return
{i}while True:
{i}{i}count = len(batches)
{i}{i}order = {numpy}.random.permutation(count) if shuffle else range(count)
{i}{i}for index in order[:steps]:
{i}{i}{i}yield batches[int(index)]
{i}{i}if ends and hasattr(batches, 'on_epoch_end'):
{i}{i}{i}batches.on_epoch_end()
'''

FIRST_OF = '''

def first_of(batches, steps):
{i}"""The first batches of a Sequence, for each evaluation; Keras 3 continues where the last one ended."""
{i}if not isinstance(batches, {keras}.utils.Sequence):
{i}{i}return StepsOf(batches, steps) if hasattr(batches, '__next__') else batches

{i}class First({keras}.utils.Sequence):
{i}{i}def __len__(self):
{i}{i}{i}return min(steps, len(batches))

{i}{i}def __getitem__(self, index):
{i}{i}{i}return batches[index]

{i}return First()
'''

STEPS_OF = '''

class StepsOf({keras}.utils.Sequence):
{i}"""So many batches in each epoch, from where the last epoch ended, and none that is read for nothing."""

{i}def __init__(self, batches, steps):
{i}{i}super().__init__()
{i}{i}self.batches, self.steps, self.lock = batches, steps, threading.Lock()
{i}{i}self.read, self.count, self.prepared, self.begun = {{}}, 0, False, False

{i}def __len__(self):
{i}{i}return self.steps

{i}def __getitem__(self, index):
{i}{i}with self.lock:
{i}{i}{i}while self.count <= index:
{i}{i}{i}{i}self.read[self.count] = self.with_tuples(deepcopy(next(self.batches)))
{i}{i}{i}{i}self.read.pop(self.count - 32, None)  # Keras asks for the first ones again
{i}{i}{i}{i}self.count += 1
{i}{i}{i}return self.read[index]

{i}def with_tuples(self, batch):
{i}{i}"""Arrays in tuples, as in lists Keras 3 refuses them."""
{i}{i}return tuple(map(self.with_tuples, batch)) if isinstance(batch, (list, tuple)) else batch

{i}def on_epoch_begin(self):
{i}{i}self.begun = True

{i}def on_epoch_end(self):
{i}{i}with self.lock:
{i}{i}{i}if self.begun and self.prepared:
{i}{i}{i}{i}self.read, self.count = {{}}, 0
{i}{i}self.prepared, self.begun = True, False  # one epoch is ended before the first one
'''

COMPILED_LOSS = '''

def compiled_loss(model, y, y_pred, sample_weight=None, regularization_losses=None):
{i}"""The loss of a model, also in its logs; that of its layers if they are given."""
{i}replicas = {tf}.distribute.get_strategy().num_replicas_in_sync
{i}loss = model.compute_loss(y=y, y_pred=y_pred, sample_weight=sample_weight)
{i}if regularization_losses is None and model.losses:
{i}{i}loss -= {tf}.add_n(model.losses) / replicas
{i}size = {tf}.shape({tf}.nest.flatten(y_pred)[0])[0]
{i}for metric in model.metrics:
{i}{i}if metric.name == 'loss':
{i}{i}{i}metric.update_state(loss * replicas, sample_weight=size)
{i}return loss
'''

UPDATE_METRICS = '''

def update_metrics(model, y, y_pred, sample_weight=None):
{i}"""Updates the metrics that a model was compiled with."""
{i}for metric in model.metrics:
{i}{i}if metric.name == 'compile_metrics':
{i}{i}{i}metric.update_state(y, y_pred, sample_weight=sample_weight)
'''

SAVED_MODEL_FILE = '''

def saved_model_file(path):
{i}"""The name under which a model was saved: by this program, or by an older one."""
{i}for name in ('bce', 'kld', 'mae', 'mape', 'mse', 'msle'):  # Keras 3 misses these losses in .h5 files
{i}{i}for spelled in (name, name.upper()):
{i}{i}{i}{keras}.utils.get_custom_objects()[spelled] = {keras}.losses.get(name)
{i}path = model_file(path) if os.path.exists(model_file(path)) else path
{i}if not os.path.isfile(path) or not os.fspath(path).endswith(('.h5', '.hdf5')):
{i}{i}return path
{i}import h5py  # most scripts do not get here
{i}with h5py.File(path, 'r') as file:
{i}{i}version = dict(file.attrs).get('keras_version', '')
{i}version = version.decode() if isinstance(version, bytes) else str(version)
{i}new = os.path.splitext(path)[0] + '.keras'
{i}if version[:1] in ('1', '2') and not os.path.exists(new):
{i}{i}print(f'{{path}} is of Keras {{version}}. If it fails: tpucompat convert-checkpoint {{path}} {{new}}')
{i}return new if version[:1] in ('1', '2') and os.path.exists(new) else path
'''
