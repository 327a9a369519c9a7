"""Correspondence of a workload's variables with those of a lifted graph: by name, slots by the op that changes them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

import numpy as np

from parity.against.counters import Counter
from workloads.lifted.plan import Plan, Variable
from workloads.program import Arrays, State
from workloads.support.errors import InputError
from workloads.support.wording import SEVERAL, listed
from workloads.variable_spec import VariableSpec
from workloads.workload import Workload


@dataclasses.dataclass(frozen=True)
class VariableNames:
    """{name in the workload's `State`: variable of the old graph}, for each of its parts.

    >>> names = VariableNames({"w": "w"}, {"w/momentum": "w/Momentum"}, {}, {}, (Counter("global_step", 1),))
    >>> old = {"w": np.float32(1), "w/Momentum": np.float32(2), "global_step": np.int64(7)}
    >>> {name: float(value) for name, value in names.port_state(7, old).slots.items()}
    {'w/momentum': 2.0}

    Attributes:
      weights, slots, statistics, averages: the parts; accumulators are slots without "/".
      counters: the old graph's variables that count steps.
      spare: {variable of the old graph that the workload does without: its value}.
      copies: {variable of a later tower that the workload does without: the first tower's, which has its value}.
    """

    weights: dict[str, str]
    slots: dict[str, str]
    statistics: dict[str, str]
    averages: dict[str, str]
    counters: tuple[Counter, ...] = ()
    spare: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict, compare=False)
    copies: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def port_state(self, step: int, values: Mapping[str, np.ndarray]) -> State:
        """Returns the workload's state.

        Args:
          step: number of the next step.
          values: {variable of the old graph: array}.

        Returns:
          the state, in the workload's names.

        Raises:
          InputError: a counter has another value than that many steps give it.
        """
        for counter in self.counters:
            found, expected = int(values[counter.name]), counter.value(step)
            if found != expected:
                raise InputError(
                    f"--against: {counter.name!r} of the old graph is {found} after step {step - 1}, and not {expected}"
                    ": a workload's schedule is a function of the number of steps"
                )

        def part(names: Mapping[str, str]) -> Arrays:
            return {name: _as_variable(values[old]) for name, old in names.items()}

        slots = part(self.slots)
        # A workload's accumulators are float32 in a run of any dtype.
        slots.update((name, np.asarray(value, np.float32)) for name, value in slots.items() if "/" not in name)
        return State(step, part(self.weights), slots, part(self.statistics), part(self.averages))

    def old_values(self, state: State) -> Arrays:
        """Returns {variable of the old graph: array} of a workload's state, counters and spare variables included."""
        values = {**self.spare, **{c.name: np.asarray(c.value(state.step)) for c in self.counters}}
        parts = ("weights", self.weights), ("slots", self.slots), ("statistics", self.statistics)
        for field, names in (*parts, ("averages", self.averages)):
            arrays = getattr(state, field)
            values.update((old, arrays[name]) for name, old in names.items())
        values.update((copy, values[first]) for copy, first in self.copies.items())
        return values


def _as_variable(value: np.ndarray) -> np.ndarray:
    """Returns whole numbers as float32, as a workload's variables are, if that has their values; others as they are."""
    as_float = np.asarray(value, np.float32)
    return as_float if value.dtype.kind in "iu" and np.array_equal(as_float, value) else value


def match_variables(
    plan: Plan,
    counters: Sequence[Counter],
    workload: Workload,
    specs: Sequence[VariableSpec],
    spare: Mapping[str, np.ndarray] | None = None,
    copies: Mapping[str, str] | None = None,
) -> VariableNames:
    """Finds the variable of the old graph for each variable, slot and average of a workload.

    Args:
      plan: of the lift.
      counters: the old graph's variables that count steps.
      workload: the port.
      specs: the port's variables.
      spare: {variable of the old graph that the port can do without: its value}.
      copies: {variable of a later tower: the first tower's that holds the same}.

    Returns:
      the names.

    Raises:
      InputError: something is on one side only, or of another shape; the message names it.
    """
    counted = {counter.name for counter in counters}
    copies = copies or {}
    old = {variable.name: variable for variable in plan.variables if variable.name not in counted}
    weights = {spec.name: spec.name for spec in specs if spec.trainable}
    statistics = {spec.name: spec.name for spec in specs if not spec.trainable}
    known_weights = [name for name in weights if name in old]
    slots = _slots(plan, workload, known_weights, copies)
    averages = {name: _average_of(plan, name) for name in known_weights if workload.moving_average is not None}
    found = {*weights, *statistics, *slots.values(), *averages.values()}
    left = {name: value for name, value in (spare or {}).items() if name in old and name not in found}
    copied = {n: first for n, first in copies.items() if n not in found and first in {*found, *counted}}
    missing = [f"{spec.name!r}" for spec in specs if spec.name not in old]
    missing += [f"{name!r}" for name, variable in {**slots, **averages}.items() if not variable]
    accounted = {*found, *left, *copied}
    extra = [_described(variable) for name, variable in old.items() if name not in accounted]
    problems = _shape_differences(old, specs)
    problems += [f"the old graph has no {listed(missing, SEVERAL)}"] if missing else []
    problems += [f"the port has no {listed(extra, SEVERAL)}"] if extra else []
    if problems:
        raise InputError(f"--against: variables of {workload.name!r} and the old graph differ: " + "; ".join(problems))
    return VariableNames(weights, slots, statistics, averages, tuple(counters), left, copied)


def _shape_differences(old: Mapping[str, Variable], specs: Sequence[VariableSpec]) -> list[str]:
    """Clauses on the port's variables that have another shape in the old graph, {name: variable}."""
    return [
        f"{spec.name!r} is {list(old[spec.name].shape)} in the old graph and {list(spec.shape)} in the port"
        for spec in specs
        if spec.name in old and tuple(old[spec.name].shape) != tuple(spec.shape)
    ]


def _slots(plan: Plan, workload: Workload, weights: Sequence[str], copies: Mapping[str, str]) -> dict[str, str]:
    """Returns {"weight/slot" or accumulator: variable of the old graph, or "" where it has none}.

    Args:
      plan: of the lift.
      workload: the port.
      weights: names of its weights.
      copies: variables of later towers, which are not searched.

    Returns:
      The names.
    """
    names = list(workload.optimizer.slots())
    found: dict[str, str] = {}
    for weight in weights:
        variables = _slots_of(plan, weight)
        complete = len(variables) == len(names)
        found.update((f"{weight}/{slot}", variables[i] if complete else "") for i, slot in enumerate(names))
    for accumulator in workload.optimizer.accumulators():
        without = [v.name for v in plan.variables if v.role == "slot" and not v.of and v.name not in copies]
        owners = [name for name in without if _base(name) == accumulator]
        found[accumulator] = owners[0] if len(owners) == 1 else ""
    return found


def _slots_of(plan: Plan, weight: str) -> list[str]:
    """Returns a weight's slots in the order in which the update op takes them, or else in the graph's order."""
    for phase in plan.phases:
        for effect in phase.effects:
            if len(effect.writes) > 1 and effect.writes[0] == weight:
                return effect.writes[1:]
    return [variable.name for variable in plan.variables if variable.role == "slot" and variable.of == weight]


def _average_of(plan: Plan, weight: str) -> str:
    """Returns the variable of a weight's moving average, or "" if there is none, or more than one."""
    found = [variable.name for variable in plan.variables if variable.role == "average" and variable.of == weight]
    return found[0] if len(found) == 1 else ""


def _base(name: str) -> str:
    """Returns the last part of a name, without the number that TensorFlow appends to a name that is taken.

    >>> _base("train/beta1_power_1")
    'beta1_power'
    """
    return re.sub(r"_\d+$", "", name.rpartition("/")[2])


def _described(variable: Variable) -> str:
    return f"{variable.name!r} ({variable.role})"
