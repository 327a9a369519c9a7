"""Initializers of the variables, as text, and the numbers that variables start from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

import numpy as np

from legacy.saved.analysis.initializers import FoundInitializer, find_initializer
from legacy.source.basics.rendering import literal_text
from legacy.source.basics.scaled_initializers import Scaling, find_scaled
from workloads.initializers import VarianceScaling
from workloads.lifted.plan.initializers import CONSTANT, GLOROT, NORMAL, ORTHOGONAL, TRUNCATED_NORMAL, UNIFORM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Plan, Variable

_FILLED = {"ZEROS": 0.0, "ONES": 1.0}
#: {kind of initializer: class of `workloads.initializers`}.
_CLASSES = {CONSTANT: "Constant", NORMAL: "Normal", TRUNCATED_NORMAL: "TruncatedNormal", UNIFORM: "Uniform"}
_CLASSES[ORTHOGONAL] = "Orthogonal"


def find_initializers(whole: Graph, variables: Sequence[Variable]) -> Tuple[Dict[str, str], List[str]]:
    """Finds the initializers of some variables.

    Args:
      whole: the whole graph, with the ops that initialize.
      variables: the variables.

    Returns:
      {variable: text of the initializer, "" for the default}, and the names of the variables whose initializer is not
      known here, which get the default.
    """
    found = {variable.name: find_initializer(whole, variable.name, variable.shape) for variable in variables}
    shapes = {variable.name: variable.shape for variable in variables}
    scaled = find_scaled({name: (one, shapes[name]) for name, one in found.items() if one is not None})
    texts = {name: _scaled_text(scaled[name]) if name in scaled else _text(one) for name, one in found.items()}
    return texts, [name for name, one in found.items() if one is None]


def first_values(
    variables: Sequence[Variable], initializers: Mapping[str, str], initial: Mapping[str, np.ndarray]
) -> Dict[str, float]:
    """Returns the numbers that variables start from which are filled with one.

    Args:
      variables: the variables.
      initializers: {variable: text of its initializer}.
      initial: {variable: value at hand}, which tells it where the initializer is not known.

    Returns:
      {variable: number}; 0 for one that starts from several.
    """
    found: Dict[str, float] = {}
    for variable in variables:
        text = initializers.get(variable.name, "")
        value = np.ravel(initial.get(variable.name, np.zeros(1)))
        if text in _FILLED:
            found[variable.name] = _FILLED[text]
        elif text.startswith("initializers.Constant("):
            found[variable.name] = float(text[len("initializers.Constant(") : -1])
        else:
            found[variable.name] = float(value[0]) if value.size and (value == value[0]).all() else 0.0
    return found


def slot_starts(whole: Graph, plan: Plan, initial: Mapping[str, np.ndarray]) -> Dict[str, float]:
    """Returns the numbers that the slots of weights start from.

    Args:
      whole: the whole graph, with the ops that initialize.
      plan: of the lift.
      initial: {variable: value at hand}, which tells it where the initializer is not known, or no constant.

    Returns:
      {slot: number}; the least number at hand of one that has several, as slots that squares are added to.
    """
    starts: Dict[str, float] = {}
    for slot in [variable for variable in plan.variables if variable.of]:
        found = find_initializer(whole, slot.name, slot.shape)
        if found is not None and found.kind == CONSTANT:
            starts[slot.name] = float(found.numbers[0])
        elif slot.name in initial:
            starts[slot.name] = float(np.min(initial[slot.name]))
    return starts


def held_scalars(plan: Plan, initial: Mapping[str, np.ndarray]) -> Dict[str, np.ndarray]:
    """Returns {variable: value at hand} of the float scalars that no train op changes, such as a learning rate."""
    changed = {name for phase in plan.phases for effect in phase.effects for name in effect.writes}
    held = [v.name for v in plan.variables if v.role != "weight" and v.dtype == "float32" and not v.shape and not v.of]
    return {name: initial[name] for name in held if name in initial and name not in changed}


def _scaled_text(scaling: Scaling) -> str:
    """Returns the text of variance scaling.

    >>> _scaled_text(Scaling(2.0, "fan_in", "truncated_normal")), _scaled_text(Scaling(1.0, "fan_avg", "uniform"))
    ('initializers.VarianceScaling(2.0)', 'initializers.VarianceScaling(1.0, "fan_avg", "uniform")')
    """
    usual = [field.default for field in dataclasses.fields(VarianceScaling)]
    numbers = list(scaling)
    while len(numbers) > 1 and numbers[-1] == usual[len(numbers) - 1]:
        numbers.pop()
    return f"initializers.VarianceScaling({', '.join(map(literal_text, numbers))})"


def _text(found: Optional[FoundInitializer]) -> str:
    """Returns the text of an initializer; "" for the default, and for one that is not known."""
    if found is None or found.kind == GLOROT:
        return ""
    numbers = [literal_text(number) for number in found.numbers]
    if found.kind == NORMAL and float(found.numbers[1]) == 0.0:
        numbers = numbers[:1]
    elif found.kind == NORMAL:
        numbers[1] = "mean=" + numbers[1]
    if found.kind == ORTHOGONAL and float(found.numbers[0]) == 1.0:
        numbers = []
    filled = [name for name, number in _FILLED.items() if found.kind == CONSTANT and number == float(found.numbers[0])]
    return filled[0] if filled else f"initializers.{_CLASSES[found.kind]}({', '.join(numbers)})"
