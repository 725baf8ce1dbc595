"""Where a checkpoint keeps what belongs to its optimizer."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Sequence

from tpucompat.commands.checkpoints import formats
from tpucompat.commands.checkpoints.slots import ROWS, Row, is_known, is_unsupported, rows_of

#: The number of updates, in the words of each generation.
STEPS = ("iter", "iteration", "iterations", "_iterations", "global_step")
#: Those of Keras' own optimizers.
_KERAS_STEPS = STEPS[:-1]
POWERS = ("beta1_power", "beta2_power")
_BETAS = ("beta_1", "beta_2")
_SCALARS = (*STEPS, *POWERS, *_BETAS, "learning_rate", "_learning_rate")


class StateError(ValueError):
    """The optimizer's state cannot be read, or not be said in the other generation's terms."""


def open_state(path: str) -> File:
    """The optimizer's part of a checkpoint.

    Raises:
      StateError: If it has none.
    """
    return _Numbered(path) if formats.kind(path) == "keras" else _Named(path)


class File:
    """The optimizer's part of a checkpoint.

    Attributes:
      path: As the user calls it.
      values: Key -> value, of all keys.
      scalars: What a scalar is called -> the keys of such scalars.
      is_keras: Whether the optimizer is one of Keras, not of ``tf.train``.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.values = formats.read_keys(path)
        self.keys = formats.keys(path)
        self.settings = formats.settings(path)
        self.scalars: dict[str, list[str]] = {}
        self.is_keras = True

    def candidates(self) -> Sequence[Row]:
        """The optimizers that this one may be."""
        raise NotImplementedError

    def slots(self, row: Row, others: set[str]) -> dict[tuple[str, str], str]:
        """(variable, slot) -> key, if it is the optimizer of a row; the other file has some slots."""
        raise NotImplementedError

    def known_slots(self, row: Row) -> set[str]:
        """The slots that the file has for certain."""
        try:
            return {slot for _, slot in self.slots(row, set())}
        except StateError:
            return set()

    def learning_rate(self) -> float | None:
        """The learning rate, if it is a number."""
        for word in ("learning_rate", "_learning_rate"):
            for key in self.scalars.get(word, ()):
                return float(self.values[key])
        config = self.settings.config
        rate = config.get("learning_rate", config.get("lr"))
        return float(rate) if isinstance(rate, (int, float)) else None

    def beta(self, place: int) -> float | None:
        """Adam's first or second beta, if the file knows it."""
        for key in self.scalars.get(_BETAS[place], ()):
            return float(self.values[key])
        if isinstance(self.settings.config.get(_BETAS[place]), float):
            return float(self.settings.config[_BETAS[place]])
        powers = self.scalars.get(POWERS[place], ())
        steps = [key for word in STEPS for key in self.scalars.get(word, ())]
        if len(powers) == 1 and len(steps) == 1 and 0 < float(self.values[powers[0]]) < 1:
            known = float(self.values[powers[0]]) ** (1 / (int(self.values[steps[0]]) + 1))
            # The global step need not be the optimizer's.
            return round(known, 6) if abs(known - round(known, 3)) < 1e-5 else None
        return None

    def _rows_of_settings(self) -> Sequence[Row]:
        name = self.settings.class_name
        if is_unsupported(name):
            raise StateError(f"{self.path}: the state of {name} is not converted")
        return rows_of(name)


class _Found(NamedTuple):
    """A slot by its name: the variable's name, the word for the slot, the optimizer's name, and its key."""

    variable: str
    word: str
    owner: str
    key: str


class _Named(File):
    """A file that names its slots: TensorFlow's, and the HDF5 files of Keras 2."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        labels = formats.labels(path)
        known = set(self.keys.values())
        self._variables: dict[str, str] = {}
        twice = set()
        for name, key in self.keys.items():
            label = labels.get(key, name)
            if label in self._variables:
                twice.add(label)
            self._variables[label] = name
        for label in twice:
            del self._variables[label]
        self._variables.update({name: name for name in self.keys})
        self._joined = {label.replace("/", "_"): name for label, name in self._variables.items()}
        self._tf1: list[_Found] = []
        self._keras2: list[_Found] = []
        self._keras3: list[_Found] = []
        for key in self.values:
            if key not in known:
                self._sort(key, labels.get(key, key).partition(":")[0])
        if not (self._tf1 or self._keras2 or self._keras3):
            raise StateError(f"{path}: contains no state of an optimizer with slots")
        steps = [key for word in _KERAS_STEPS for key in self.scalars.get(word, ())]
        self.is_keras = bool(steps) and not self._tf1

    def _sort(self, key: str, label: str) -> None:
        parts = label.split("/")
        if not self.values[key].shape:
            word = re.sub(r"_\d+$", "", parts[-1]) if parts[-1] not in _BETAS else parts[-1]
            if word in _SCALARS:
                self.scalars.setdefault(word, []).append(key)
                return
        slot = formats.slot_of(key)
        if slot is not None:
            self._keras2.append(_Found(slot[0], slot[2], slot[1], key))
            return
        found = self._inside(parts)
        if found is not None:
            name, before, after = found
            if self.values[key].shape != self.values[self.keys[name]].shape:
                return
            if len(after) == 1 and any(after[0] in row.words for row in ROWS):
                self._keras2.append(_Found(name, after[0], "", key))
            elif len(after) == 1 and after[0] != "ExponentialMovingAverage":
                self._tf1.append(_Found(name, after[0], "", key))
            elif before and not after:
                self._keras2.append(_Found(name, before[-1], "", key))
            return
        for slot_name in {slot for row in ROWS for slot in row.slots()}:
            name_ = self._joined.get(parts[-1][: -len(slot_name) - 1])
            if name_ is not None and parts[-1].endswith("_" + slot_name):
                self._keras3.append(_Found(name_, slot_name, parts[0], key))

    def _inside(self, parts: Sequence[str]) -> tuple[str, Sequence[str], Sequence[str]] | None:
        """The longest name of a variable inside of a label, and what stands before and after it."""
        for length in range(len(parts) - 1, 0, -1):
            for start in range(len(parts) - length + 1):
                name = self._variables.get("/".join(parts[start : start + length]))
                if name is not None:
                    return name, parts[:start], parts[start + length :]
        return None

    def candidates(self) -> Sequence[Row]:
        rows = self._rows_of_settings()
        if self._tf1:
            bases = {_base(found.word) for found in self._tf1}
            named = [row for row in rows if bases.intersection(row.tf1)]
            return named or rows
        if self._keras3:
            owners = {found.owner for found in self._keras3}
            if any(map(is_unsupported, owners)):
                raise StateError(f"{self.path}: the state of {min(owners)} is not converted")
            known = [row for owner in owners if is_known(owner) for row in rows_of(owner)]
            have = {found.word for found in self._keras3}
            return [row for row in known or rows if row.may_have(have)]
        words = {found.word for found in self._keras2}
        if any("momentum_cache" in key for key in self.values):
            raise StateError(f"{self.path}: the state of Nadam is not converted")
        return [
            row
            for row in rows
            if words.issubset(row.words) and row.may_have(row.words[word] for word in words)
        ]

    def slots(self, row: Row, others: set[str]) -> dict[tuple[str, str], str]:
        if self._tf1:
            return self._numbered_names(row)
        if self._keras3:
            return {(found.variable, found.word): found.key for found in self._keras3}
        return {
            (found.variable, row.words[found.word]): found.key
            for found in self._keras2
            if found.word in row.words
        }

    def _numbered_names(self, row: Row) -> dict[tuple[str, str], str]:
        """The slots of ``kernel/Adam`` and ``kernel/Adam_1``."""
        bases = {_base(found.word) for found in self._tf1}
        ours = bases.intersection(row.tf1) or bases
        if len(ours) > 1:
            raise StateError(
                f"{self.path}: slots of several optimizers ({', '.join(sorted(ours))})"
            )
        of_variable: dict[str, list[_Found]] = {}
        for found in self._tf1:
            if _base(found.word) in ours:
                of_variable.setdefault(found.variable, []).append(found)
        slots = {}
        for name, there in of_variable.items():
            there.sort(key=lambda found: formats.natural(found.word))
            made = [words for words in row.made if len(words) == len(there)]
            if not made:
                raise StateError(f"{self.path}: {name} has {len(there)} slots, {row.name} has not")
            slots.update({(name, slot): found.key for slot, found in zip(made[0], there)})
        return slots


def _base(word: str) -> str:
    return re.sub(r"_\d+$", "", word)


class _Numbered(File):
    """A file that numbers the variables of an optimizer: Keras 3's."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        numbered = [key for key in self.values if re.fullmatch(r"/optimizer/vars/\d+", key)]
        self._keys = sorted(numbered, key=formats.natural)
        if not self._keys:
            raise StateError(
                f"{path}: contains no state of an optimizer; save it from a compiled model after a step of "
                "training, or after model.optimizer.build(model.trainable_variables)"
            )
        self.scalars["iteration"] = self._keys[:1]
        blocks: dict[str, list[str]] = {}
        for name, key in self.keys.items():
            if name.rpartition("/")[2] not in ("moving_mean", "moving_variance"):
                blocks.setdefault(key.rpartition("/")[0], []).append(name)
        self._saved_names = formats.saved_names(path)
        self._blocks = {
            block: names
            for block, names in blocks.items()
            if self.settings.layers.get(self._layer_of(block), True)
        }

    def _layer_of(self, block: str) -> str:
        """The name of the layer of the model's configuration that a group of variables belongs to."""
        place = block.rpartition("/")[0]
        while place:
            name = self._saved_names.get(place + "/vars", "")
            if name in self.settings.layers:
                return name
            place = place.rpartition("/")[0]
        return ""

    def candidates(self) -> Sequence[Row]:
        if self.settings.class_name:
            return self._rows_of_settings()
        name = self._saved_names.get("/optimizer/vars", "")
        if is_unsupported(name):
            raise StateError(f"{self.path}: the state of {name} is not converted")
        return rows_of(name)

    def slots(self, row: Row, others: set[str]) -> dict[tuple[str, str], str]:
        count = sum(map(len, self._blocks.values()))
        fitting = [
            (lead, groups)
            for lead in (2, 1)  # the learning rate is a variable unless it has a schedule
            for groups in self._possible_groups(row)
            if lead + count * sum(map(len, groups)) == len(self._keys)
        ]
        if len(fitting) > 1:
            same = [
                one for one in fitting if {slot for group in one[1] for slot in group} == others
            ]
            fitting = same or fitting
        if len(fitting) != 1:
            raise StateError(
                f"{self.path}: {len(self._keys)} variables of the optimizer do not fit {row.name} "
                f"for {count} trainable variables; use a .keras file, which says what is trainable"
            )
        lead, groups = fitting[0]
        if lead == 2:
            self.scalars["learning_rate"] = self._keys[1:2]
        keys = self._keys[lead:]
        shapes = [self.values[key].shape for key in keys[: count * len(groups[0]) : len(groups[0])]]
        order = self._order(shapes)
        waiting = iter(keys)
        found = {}
        for group in groups:
            for name in order:
                for slot in group:
                    found[name, slot] = next(waiting)
        wrong = [
            key
            for (name, _), key in found.items()
            if self.values[key].shape != self.values[self.keys[name]].shape
        ]
        if wrong:
            raise StateError(f"{self.path}: {wrong[0]} does not have the shape of its variable")
        return found

    def _possible_groups(self, row: Row) -> Iterator[tuple[tuple[str, ...], ...]]:
        config = self.settings.config
        first, rest = row.groups[0], row.groups[1:]
        for chosen in range(1 << len(rest)):
            groups = [group for place, group in enumerate(rest) if chosen >> place & 1]
            slots = {slot for group in groups for slot in group}
            if row.name == "RMSprop" and config:
                expected = {"momentum"} if config.get("momentum") else set()
                expected |= {"average_gradient"} if config.get("centered") else set()
                if slots != expected:
                    continue
            yield (first, *groups)

    def _order(self, shapes: Sequence[tuple[int, ...]]) -> list[str]:
        """The trainable variables in the model's order, which only the archive's configuration knows."""
        ranks = {name: rank for rank, name in enumerate(self.settings.layers)}
        layers = {block: self._layer_of(block) for block in self._blocks}
        if all(layers.values()) and len(set(layers.values())) == len(layers):
            blocks = sorted(self._blocks, key=lambda block: ranks[layers[block]])
            return [name for block in blocks for name in self._blocks[block]]
        chains: dict[str, list[str]] = {}
        for block in sorted(self._blocks, key=formats.natural):
            chains.setdefault(_chain(block), []).append(block)
        orders = _merged([self._with_shapes(chain) for chain in chains.values()], shapes)
        if len(orders) == 1:
            return orders[0]
        raise StateError(
            f"{self.path}: the shapes do not tell the order of the model's layers, in which the optimizer "
            "keeps its variables; use a .keras file, which contains the order"
        )

    def _with_shapes(self, chain: Sequence[str]) -> list[list[tuple[str, tuple[int, ...]]]]:
        return [
            [(name, self.values[self.keys[name]].shape) for name in self._blocks[block]]
            for block in chain
        ]


def _chain(block: str) -> str:
    """What layers share that are in the order of their numbers: ``layers/dense``, ``layers/dense_1``."""
    return re.sub(r"(layers/[^/]*?)_\d+(?=/)", r"\1", block)


def _merged(
    chains: Sequence[Sequence[Sequence[tuple[str, tuple[int, ...]]]]],
    shapes: Sequence[tuple[int, ...]],
) -> list[list[str]]:
    """The orders, two at most, in which chains of layers can follow each other for these shapes."""
    dead: set[tuple[int, ...]] = set()
    found: list[list[str]] = []

    def choices(places: tuple[int, ...], done: int) -> list[int]:
        return [
            which
            for which, (place, chain) in enumerate(zip(places, chains))
            if place < len(chain)
            and [shape for _, shape in chain[place]]
            == list(shapes[done : done + len(chain[place])])
        ]

    def go_on(places: tuple[int, ...], order: list[str]) -> None:
        start, before = places, len(found)
        while True:
            fitting = choices(places, len(order))
            if len(fitting) != 1:
                break
            places, order = _advance(chains, places, order, fitting[0])
        if not fitting and len(order) == len(shapes):
            found.append(order)
        for which in fitting:
            after = _advance(chains, places, order, which)
            if after[0] not in dead and len(found) < 2:
                go_on(*after)
        if len(found) == before:
            dead.add(start)

    go_on(tuple(0 for _ in chains), [])
    return found


def _advance(
    chains: Sequence[Sequence[Sequence[tuple[str, tuple[int, ...]]]]],
    places: tuple[int, ...],
    order: list[str],
    which: int,
) -> tuple[tuple[int, ...], list[str]]:
    block = chains[which][places[which]]
    after = (*places[:which], places[which] + 1, *places[which + 1 :])
    return after, [*order, *(name for name, _ in block)]
