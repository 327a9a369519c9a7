"""One tower of a lift, and its data: made-up numbers, or the program's own examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Mapping, NamedTuple, Sequence

import numpy as np

from legacy.source.basics.unwritten import Unwritten
from workloads.lifted.made_up_data import (
    BatchSize,
    made_up_integers,
    made_up_shape,
    made_up_sparse_tensor,
    part_of_whole,
    sparse_groups,
)
from workloads.numerics import random_keys

if TYPE_CHECKING:
    from legacy.source.step.further_gradients import FurtherGradients
    from legacy.source.step.input_names import InputNames
    from legacy.source.step.statistics import Proposal
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Input, Phase, Plan
    from workloads.program import Arrays

#: Examples of one tower, where the graph takes any number.
ROWS = 8
#: How far the weights of a further state are from the checkpoint's, in standard deviations of each weight's entries,
#: and of weights whose entries are equal, such as biases of zero.
_MOVED, _MOVED_EQUAL = 0.5, 0.1
#: Factor on the moved weights in the last state: products are as large as sums, and no softmax is nearly uniform, so
#: that all parts of a gradient change its bits.
_FACTOR = 8.0
#: Place of this state.
LARGER = 2
#: Roles of variables that a step changes and no optimizer trains.
_STATES = ("statistic", "state")


class Tower(NamedTuple):
    """One tower of a lift.

    Attributes:
      plan: of the lift.
      graph: of the lift.
      states: {variable: array} of each state that it is run from; see `proof_states`.
      settings: {scalar input: value}.
      proposals: the statistics that it changes.
      number: of the tower.
      phase: the train op.
      names: of the inputs in the written function.
      examples: each tower's batch of the program's own data; empty for made-up numbers.
      further: gradients that some weights have besides.
      draw: which made-up numbers it is run on, from 0.
    """

    plan: Plan
    graph: Graph
    states: Sequence[Arrays]
    settings: Mapping[str, float]
    proposals: Sequence[Proposal]
    number: int
    phase: Phase
    names: InputNames
    examples: Sequence[Arrays] = ()
    further: Sequence[FurtherGradients] = ()
    draw: int = 0

    @property
    def values(self) -> Arrays:
        """{variable: array} of the first state."""
        return self.states[0]


def made_up_seed(stream: str, number: int) -> np.ndarray:
    """Returns the seed of tower `number` for the random numbers of a stream that a loop draws, int32 [2]."""
    return np.array([random_keys.noise_key(0, number, stream), 0], np.int32)


def proof_states(plan: Plan, values: Arrays) -> List[Arrays]:
    """Returns the {variable: array} that towers are run from: the checkpoint's, and two with other weights and states.

    Weights as they were initialized hide what a written function lacks: a bias of zero adds nothing, and a part of a
    gradient may be too small to change a sum of three parts. A state of zeros hides which part of it a tower takes.
    Small weights hide an order of additions behind a softmax or a cell, whose gradients are far below the others; large
    ones hide what they saturate.

    Args:
      plan: of the lift.
      values: {variable: array} of the checkpoint.
    """
    rng = np.random.RandomState(3)
    roles = {variable.name: variable.role for variable in plan.variables}
    trained = {name: _moved(value, rng) for name, value in values.items() if roles.get(name) == "weight"}
    states = [name for name, value in values.items() if roles.get(name) in _STATES and np.ndim(value)]
    carried = {name: _raised(values[name], rng) for name in states}
    larger = {
        name: np.asarray(value * _FACTOR, value.dtype) for name, value in trained.items() if value.dtype.kind == "f"
    }
    return [values, {**values, **trained, **carried}, {**values, **trained, **carried, **larger}]


def _raised(value: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Returns a state with positive numbers added to it, if it holds floats; a variance stays positive."""
    value = np.asarray(value)
    if value.dtype.kind != "f":
        return value
    return np.asarray(value + _MOVED_EQUAL * np.abs(rng.standard_normal(value.shape)), value.dtype)


def _moved(value: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Returns a weight with normal numbers added to it, if it holds floats."""
    value = np.asarray(value)
    if value.dtype.kind != "f":
        return value
    spread = float(np.std(value)) if value.size > 1 else 0.0
    return np.asarray(value + (_MOVED * spread or _MOVED_EQUAL) * rng.standard_normal(value.shape), value.dtype)


def tower_data(tower: Tower, number: int) -> Arrays:
    """Returns {input of the plan: array} for tower `number`: its examples, or made-up numbers."""
    if not tower.examples:
        return made_up_data(tower, number)
    entries = {entry.name: entry for entry in tower.plan.inputs + tower.plan.common}
    settings = {name: np.asarray(value, entries[name].dtype) for name, value in tower.settings.items()}
    return {**tower.examples[number], **settings}


def made_up_data(tower: Tower, number: int) -> Arrays:
    """Returns made-up {input of the plan: array} for tower `number`.

    Raises:
      Unwritten: an input holds texts, which are no numbers.
    """
    rng = np.random.RandomState([1 + number, tower.draw] if tower.draw else 1 + number)
    entries = tower.plan.inputs + tower.plan.common
    rows = tower.plan.batch or ROWS
    data: Arrays = {}
    for entry in [entry for entry in entries if not entry.sparse]:
        if entry.kind == "setting":
            data[entry.name] = np.asarray(tower.settings[entry.name], entry.dtype)
            continue
        if entry.dtype == "string":
            raise Unwritten(f"proof: {entry.name!r} holds texts, which cannot be made up")
        replicas = tower.plan.towers if part_of_whole(entry, entries) else 1
        # Of one that is no batch, its own first size.
        shape = made_up_shape(entry, BatchSize(rows, replicas)) or (rows,)
        is_whole = "int" in entry.dtype or entry.limit
        if entry.dtype == "bool":
            data[entry.name] = np.asarray(rng.randint(entry.low, 2, shape), bool)
            continue
        drawn = made_up_integers(entry, shape, rng) if is_whole else rng.random_sample(shape)
        data[entry.name] = np.asarray(drawn, entry.dtype)
    for parts in sparse_groups(entries).values():
        data.update(made_up_sparse_tensor(parts, BatchSize(rows, tower.plan.towers), rng))
    return data


def value_of(entry: Input, number: int, data: Mapping[int, Arrays]) -> np.ndarray:
    """Returns the data that tower `number` reads for an input; towers that share a tensor read the same data.

    Args:
      entry: the input.
      number: of the tower.
      data: {tower: its made-up data}. Of towers that share a tensor, the data of the one listed first is read.

    Returns:
      The array.
    """
    tensor = entry.tensors[min(number, len(entry.tensors) - 1)]
    sharing = [tower for tower in data if entry.tensors[min(tower, len(entry.tensors) - 1)] == tensor]
    return data[sharing[0]][entry.name]
