"""``GridLSTMCell``, ``BidirectionalGridLSTMCell`` and ``TimeFreqLSTMCell`` of ``tf.contrib.rnn``.

They run over windows of the input's features ("frequencies") as well as over time. Equations, order of gates
and variable names follow tensorflow/contrib/rnn/python/ops/rnn_cell.py of TensorFlow 1.15.
"""

from __future__ import annotations

import collections
from typing import Any, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadValueError
from tpucompat.legacy.contrib.rnn_cells import RNNCell


def _weights(name: str, shape: list[int], dtype: Any, shards: int) -> Any:
    """A matrix whose rows are spread over variables, the first of which have the rows that are left."""
    if shards > shape[0]:
        raise BadValueError("TPU103", f"Too many shards: shape={shape}, num_shards={shards}")
    rows, rest = divmod(shape[0], shards)
    parts = [
        tf.get_variable(f"{name}_{shard}", [rows + (shard < rest), *shape[1:]], dtype=dtype)
        for shard in range(shards)
    ]
    return parts[0] if shards == 1 else tf.concat(parts, 0, name=name + "/concat")


def _biases(name: str, size: int, dtype: Any) -> Any:
    return tf.get_variable(name, [size], initializer=tf.zeros_initializer(), dtype=dtype)


def _clipped(cell: Any, clip: float | None) -> Any:
    return cell if clip is None else tf.clip_by_value(cell, -clip, clip)


def _features(inputs: Any) -> int:
    size = inputs.shape.with_rank(2).as_list()[-1]
    if size is None:
        raise BadValueError("TPU103", "Cannot infer input_size from static shape inference.")
    return int(size)


def _windows(inputs: Any, start: int, count: int, step: int, size: int) -> list[Any]:
    """So many windows of the features, from ``start`` on."""
    return [tf.slice(inputs, [0, start + each * step], [-1, size]) for each in range(count)]


class TimeFreqLSTMCell(RNNCell):
    """An LSTM that runs over windows of its input's features at each step (Sainath and Li, 2016).

    State and output are as wide as there are windows, whatever :attr:`state_size` and :attr:`output_size`,
    those of one window, say.

    Args:
      num_units: Numbers in a state, for each window.
      use_peepholes: Whether gates see the cell state.
      cell_clip: Cell states are clipped to this.
      initializer: Without effect, as in 1.15.
      num_unit_shards: Over how many variables the matrix is spread.
      forget_bias: Added to the forget gate.
      feature_size: How many features a window has.
      frequency_skip: How many lie between the starts of two.
      reuse: Whether variables are reused.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int = 1,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size or 0
        self._frequency_skip = frequency_skip

    @property
    def output_size(self) -> int:
        """Numbers in the output of one window."""
        return self._num_units

    @property
    def state_size(self) -> int:
        """Numbers in the state of one window."""
        return 2 * self._num_units

    def call(self, inputs: Any, state: Any) -> Any:
        """One step; the state is ``[batch, windows * 2 * num_units]``."""
        units, dtype = self._num_units, inputs.dtype
        count = (_features(inputs) - self._feature_size) // self._frequency_skip + 1
        windows = _windows(inputs, 0, count, self._frequency_skip, self._feature_size)
        matrix = _weights("W", [self._feature_size + 2 * units, 4 * units], dtype, self._shards)
        bias = _biases("B", 4 * units, dtype)
        holes = {
            gate: tf.get_variable(f"W_{gate}_diag", [units], dtype=dtype)
            for gate in ("FIO" if self._use_peepholes else "")
        }

        def gate(name: str, value: Any, cell: Any) -> Any:
            return tf.sigmoid(value + holes[name] * cell if holes else value)

        below = tf.zeros([tf.shape(inputs)[0], units], dtype)
        below.set_shape([inputs.shape[0], units])
        outputs, states = [], []
        for place, window in enumerate(windows):
            before = tf.slice(state, [0, 2 * place * units], [-1, units])
            output = tf.slice(state, [0, (2 * place + 1) * units], [-1, units])
            seen = tf.concat([window, output, below], 1)
            enter, new, keep, out = tf.split(tf.nn.bias_add(tf.matmul(seen, matrix), bias), 4, 1)
            kept = gate("F", keep + self._forget_bias, before) * before
            cell = _clipped(kept + gate("I", enter, before) * tf.tanh(new), self._cell_clip)
            below = gate("O", out, cell) * tf.tanh(cell)
            outputs.append(below)
            states += [cell, below]
        return tf.concat(outputs, 1), tf.concat(states, 1)


class GridLSTMCell(RNNCell):
    """Two LSTMs at each window of the features: one goes on in time, one to the next window.

    Args:
      num_units: Numbers in a state, for each window and direction.
      use_peepholes: Whether gates see both cell states.
      share_time_frequency_weights: Whether both LSTMs have the same variables.
      cell_clip: Cell states are clipped to this.
      initializer: Without effect, as in 1.15.
      num_unit_shards: Over how many variables a matrix is spread.
      forget_bias: Added to the forget gates.
      feature_size: How many features a window has.
      frequency_skip: How many lie between the starts of two.
      num_frequency_blocks: Windows in each block of the features.
      start_freqindex_list: Where each block starts; None for one block, all features.
      end_freqindex_list: Where each ends.
      couple_input_forget_gates: Whether what is kept is 1 less what enters.
      state_is_tuple: Whether the state is a tuple of all parts, and not one tensor.
      reuse: Whether variables are reused.

    Raises:
      ValueError: ``num_frequency_blocks`` is None; at a call, if the blocks do not fit the input.
    """

    _DIRECTIONS: tuple[str, ...] = ("",)
    _TUPLE = "GridLSTMStateTuple"

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise BadValueError("TPU103", "Must specify num_frequency_blocks")
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._shared = share_time_frequency_weights
        self._cell_clip = cell_clip
        self._shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size or 0
        self._frequency_skip = frequency_skip or 1
        self._blocks = [int(windows) for windows in num_frequency_blocks]
        self._starts = start_freqindex_list or []
        self._ends = end_freqindex_list or []
        self._coupled = couple_input_forget_gates
        names = [
            f"{self._part(direction, window, block)}_{part}"
            for direction in self._DIRECTIONS
            for block, windows in enumerate(self._blocks)
            for window in range(windows)
            for part in "cm"
        ]
        self._tuple: Any = collections.namedtuple(self._TUPLE, names) if state_is_tuple else None
        self._parts = len(names)

    @staticmethod
    def _part(direction: str, window: int, block: int) -> str:
        return f"{direction}_state_f{window:02d}_b{block:02d}".lstrip("_")

    @property
    def output_size(self) -> int:
        """Numbers in an output: what both LSTMs of all windows give."""
        return self._num_units * self._parts

    @property
    def state_size(self) -> Any:
        """Numbers in the parts of a state."""
        if self._tuple is None:
            return self._num_units * self._parts
        return self._tuple(*[self._num_units] * self._parts)

    @property
    def state_tuple_type(self) -> Any:
        """The class of states; None where they are tensors."""
        return self._tuple

    def call(self, inputs: Any, state: Any) -> Any:
        """One step; inputs are ``[batch, features]``."""
        outputs, states = self._run(self._inputs(inputs), state, "")
        joined = tf.concat(states, 1) if self._tuple is None else self._tuple(*states)
        return tf.concat(outputs, 1), joined

    def _inputs(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """The windows of each block, moved by an offset; beyond the features there are zeros."""
        size, many = _features(inputs), len(self._blocks)
        if not self._starts and many != 1:
            raise BadValueError(
                "TPU103", f"Length of num_frequency_blocks is not 1, but instead is {many}"
            )
        if len(self._starts) != len(self._ends) or len(self._starts) not in (0, many):
            raise BadValueError(
                "TPU103",
                "Length of num_frequency_blocks, start and end freqindex_list does not match",
            )
        if offset:
            inputs = tf.pad(inputs, [[0, 0], [max(0, -offset), max(0, offset)]])
        blocks = []
        for block, (start, end) in enumerate(zip(self._starts or [0], self._ends or [size])):
            count = (end - start - self._feature_size) // self._frequency_skip + 1
            if count != self._blocks[block]:
                raise BadValueError(
                    "TPU103",
                    f"Invalid num_frequency_blocks, requires {self._blocks[block]} but gets {count}, "
                    "please check the input size and filter config are correct.",
                )
            start += max(0, offset)
            blocks.append(_windows(inputs, start, count, self._frequency_skip, self._feature_size))
        return blocks

    def _run(
        self, blocks: list[list[Any]], state: Any, direction: str
    ) -> tuple[list[Any], list[Any]]:
        """Outputs and states of the windows of all blocks."""
        outputs: list[Any] = []
        states: list[Any] = []
        for block, windows in enumerate(blocks):
            variables = _BlockVariables(self, block, windows[0].dtype)
            units = self._num_units
            below = tf.zeros([tf.shape(windows[0])[0], units], windows[0].dtype)
            below.set_shape([windows[0].shape[0], units])
            cell_below = below
            for place, window in enumerate(windows):
                if self._tuple is None:  # blocks share their places there, as in 1.15
                    before = tf.slice(state, [0, 2 * place * units], [-1, units])
                    output = tf.slice(state, [0, (2 * place + 1) * units], [-1, units])
                else:
                    part = self._part(direction, place, block)
                    before, output = getattr(state, part + "_c"), getattr(state, part + "_m")
                seen = tf.concat([window, output, below], 1)
                cell_below, below, cell, output = variables.step(seen, cell_below, before)
                outputs += [output, below]
                states += [cell, output]
        return outputs, states


class _BlockVariables:
    """The variables of one block of a :class:`GridLSTMCell`, and what it computes at a window."""

    def __init__(self, cell: GridLSTMCell, block: int, dtype: Any) -> None:
        self._cell = cell
        units = cell._num_units
        axes = ("freq",) if cell._shared else ("freq", "time")
        self._letters = "IO" if cell._coupled else "FIO"
        size = (len(self._letters) + 1) * units
        rows = cell._feature_size + 2 * units
        self._kernels = {}
        for axis in axes:
            name = f"{axis[0]}_{block}"
            matrix = _weights("W_" + name, [rows, size], dtype, cell._shards)
            self._kernels[axis] = matrix, _biases("B_" + name, size, dtype)
        self._holes = {
            (axis, letter): [
                tf.get_variable(f"W_{letter}_diag_{axis}{to}_{block}", [units], dtype=dtype)
                for to in "ft"
            ]
            for axis in (axes if cell._use_peepholes else ())
            for letter in self._letters
        }

    def step(self, seen: Any, cell_below: Any, before: Any) -> tuple[Any, Any, Any, Any]:
        """Cell state and output of the LSTM over windows, then those of the LSTM over time."""
        parts = {
            axis: dict(zip("IJO" if self._cell._coupled else "IJFO", tf.split(made, size, 1)))
            for axis, made, size in (
                (axis, tf.nn.bias_add(tf.matmul(seen, matrix), bias), len(self._letters) + 1)
                for axis, (matrix, bias) in self._kernels.items()
            )
        }
        olds = {"freq": cell_below, "time": before}
        cells = {}
        for axis, old in olds.items():
            shown = axis if axis in parts else "freq"
            part = parts[shown]
            enter = self._gate(shown, "I", part["I"], cell_below, before)
            if self._cell._coupled:
                keep = 1.0 - enter
            else:
                forget = part["F"] + self._cell._forget_bias
                keep = self._gate(shown, "F", forget, cell_below, before)
            cells[axis] = _clipped(keep * old + enter * tf.tanh(part["J"]), self._cell._cell_clip)
        made = []
        for axis, cell in cells.items():
            shown = axis if axis in parts else "freq"
            out = self._gate(shown, "O", parts[shown]["O"], cells["freq"], cells["time"])
            made += [cell, out * tf.tanh(cell)]
        return tuple(made)

    def _gate(self, axis: str, letter: str, value: Any, of_windows: Any, of_time: Any) -> Any:
        holes = self._holes.get((axis, letter))
        if holes:
            value = value + holes[0] * of_windows + holes[1] * of_time
        return tf.sigmoid(value)


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A :class:`GridLSTMCell` that goes through the windows of a step in both directions.

    Args:
      num_units: As for :class:`GridLSTMCell`, as all others but one.
      use_peepholes: See there.
      share_time_frequency_weights: See there.
      cell_clip: See there.
      initializer: See there.
      num_unit_shards: See there.
      forget_bias: See there.
      feature_size: See there.
      frequency_skip: See there.
      num_frequency_blocks: See there.
      start_freqindex_list: See there.
      end_freqindex_list: See there.
      couple_input_forget_gates: See there.
      backward_slice_offset: By how many features the windows of the way back are moved.
      reuse: Whether variables are reused.
    """

    _DIRECTIONS = ("fwd", "bwd")
    _TUPLE = "BidirectionalGridLSTMStateTuple"

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes,
            share_time_frequency_weights,
            cell_clip,
            initializer,
            num_unit_shards,
            forget_bias,
            feature_size,
            frequency_skip,
            num_frequency_blocks,
            start_freqindex_list,
            end_freqindex_list,
            couple_input_forget_gates,
            True,
            reuse,
        )
        self._offset = backward_slice_offset

    def call(self, inputs: Any, state: Any) -> Any:
        """One step; inputs are ``[batch, features]``."""
        forth = self._inputs(inputs)
        back = self._inputs(inputs, self._offset) if self._offset else forth
        with tf.variable_scope("fwd"):
            outputs, states = self._run(forth, state, "fwd")
        with tf.variable_scope("bwd"):
            more, after = self._run([windows[::-1] for windows in back], state, "bwd")
        return tf.concat(outputs + more, 1), self._tuple(*states, *after)
