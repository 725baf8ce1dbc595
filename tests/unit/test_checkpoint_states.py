"""What is told of an optimizer from a checkpoint: its steps, and the order of its variables."""

from __future__ import annotations

import numpy as np
import pytest

from tpucompat.commands.checkpoints import formats, optimizers, slots, states

DEFAULTS = (0.9, 0.999)


def named(monkeypatch, values):
    """The state in a checkpoint of TensorFlow 1 with these values."""
    values = {key: np.asarray(value, np.float32) for key, value in values.items()}
    values["global_step"] = values.get("global_step", np.float32(0)).astype(np.int64)
    values.update({"w/Adam": np.zeros(2), "w/Adam_1": np.zeros(2)})
    values["w"] = np.zeros(2)
    monkeypatch.setattr(formats, "kind", lambda path: "tf1")
    monkeypatch.setattr(formats, "read_keys", lambda path: values)
    monkeypatch.setattr(formats, "keys", lambda path: {"w": "w"})
    return states.open_state("model.ckpt")


def powers(step, betas=DEFAULTS):
    found = [np.float32(1)] * 2
    for _ in range(step + 1):
        found = [np.float32(one * np.float32(beta)) for one, beta in zip(found, betas)]
    return dict(zip(("beta1_power", "beta2_power"), found))


@pytest.mark.parametrize("step", [0, 1, 7, 100, 5000])
def test_the_global_step_counts_where_the_powers_agree(monkeypatch, step):
    file = named(monkeypatch, {"global_step": step, **powers(step)})
    assert optimizers._step(file, None, DEFAULTS) == step


@pytest.mark.parametrize("counted", [50, 3])
def test_a_step_that_the_powers_contradict_is_asked_for(monkeypatch, counted):
    file = named(monkeypatch, {"global_step": counted, **powers(20)})
    with pytest.raises(states.StateError, match="--step"):
        optimizers._step(file, None, DEFAULTS)
    assert optimizers._step(file, 20, DEFAULTS) == 20


@pytest.mark.parametrize("step", [0, 9, 400])
def test_without_a_global_step_the_powers_tell(monkeypatch, step):
    file = named(monkeypatch, powers(step))
    file.scalars.pop("global_step")
    assert optimizers._step(file, None, DEFAULTS) == step


def test_the_betas_are_told_from_powers_and_step(monkeypatch):
    file = named(monkeypatch, {"global_step": 6, **powers(6, (0.5, 0.99))})
    assert optimizers._betas(file, file) == [0.5, 0.99]
    other = named(
        monkeypatch, {"global_step": 6, **powers(2)}
    )  # another count than the optimizer's
    assert optimizers._betas(other, other) == list(DEFAULTS)


def test_two_optimizers_are_not_taken_for_one(monkeypatch):
    values = {**powers(3), "beta1_power_1": 0.9**9, "beta2_power_1": 0.999**9}
    with pytest.raises(states.StateError, match="several optimizers"):
        optimizers._step(named(monkeypatch, values), None, DEFAULTS)


def block(name, *shapes):
    return [(f"{name}/{place}", shape) for place, shape in enumerate(shapes)]


def test_layers_are_merged_where_their_shapes_tell_the_order():
    dense = [block("dense", (4, 4), (4,)), block("dense_1", (4, 4), (4,))]
    norm = [block("norm", (4,), (4,))]
    shapes = [(4, 4), (4,), (4,), (4,), (4, 4), (4,)]
    (order,) = states._merged([dense, norm], shapes)
    assert order == ["dense/0", "dense/1", "norm/0", "norm/1", "dense_1/0", "dense_1/1"]
    assert states._merged([dense, norm], shapes[::-1]) == []


def test_two_possible_orders_are_both_found():
    chains = [[block("one", (4,), (4,))], [block("two", (4,), (4,))]]
    assert len(states._merged(chains, [(4,)] * 4)) == 2
    many = [[block(f"c{chain}", (4,))] for chain in range(40)]
    assert len(states._merged(many, [(4,)] * 40)) == 2  # and no more are looked for


def test_no_order_is_found_in_time_though_many_begin():
    many = [[block(f"c{chain}_{place}", (4,)) for place in range(4)] for chain in range(4)]
    many.append([block("last", (5,))])
    assert states._merged(many, [(4,)] * 16 + [(6,)]) == []


def test_names_of_objects_are_those_of_classes():
    assert [slots.rows_of(name)[0].name for name in ("adam_1", "rm_sprop", "AdamW", "SGD")] == [
        *("Adam", "RMSprop", "Adam", "SGD")
    ]
    assert slots.rows_of("mine") == slots.ROWS
    assert slots.is_unsupported("nadam_2") and not slots.is_unsupported("adam")
