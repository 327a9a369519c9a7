"""Evaluates an update that works element by element with a number for each variable and gradient in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Dict, Optional, Set

import numpy as np

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.first_values import first_value
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Phase, effects_by_variable

_PASSES = ("Identity", "Cast", "Reshape", "ReadVariableOp", "StopGradient", "Enter")
_FUNCTIONS: Dict[str, Callable[..., float]] = {
    "Add": lambda a, b: a + b,
    "AddV2": lambda a, b: a + b,
    "AddN": lambda *terms: sum(terms),
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "RealDiv": lambda a, b: a / b,
    "Div": lambda a, b: a / b,
    "Neg": lambda a: -a,
    "Square": lambda a: a * a,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda a: 1 / np.sqrt(a),
    "Pow": lambda a, b: a**b,
    "Maximum": max,
    "Minimum": min,
}


class ScalarUpdates:
    """Evaluates tensors of a run in double precision, with one number in place of each array.

    Args:
      analysed: the training step.
      phase: the run.
    """

    def __init__(self, analysed: AnalysedStep, phase: Phase) -> None:
        self._analysed = analysed
        self._graph = analysed.graph
        self._writes = {effect.node: effect for effect in phase.effects}
        self._by_variable = effects_by_variable(phase.effects)
        self._variables = {variable.name for variable in analysed.plan.variables}
        self._waits: Dict[str, Set[str]] = {}

    def value(self, tensor: str, given: Mapping[str, float], steps: float = 0.0) -> Optional[float]:
        """Evaluates a tensor.

        Args:
          tensor: its name.
          given: {variable: the number that it holds before the run, or node: its result}.
          steps: the number that counters hold before the run.

        Returns:
          Its value; None where an op is none of arithmetic, or reads what has no number.
        """
        try:
            return _Evaluation(self, given, steps).of(parse_tensor_name(tensor))
        except (_UnknownError, ZeroDivisionError, OverflowError):
            return None

    def _done_before(self, variable: str, read: str) -> Optional[str]:
        """The last assignment of a variable that a node which reads it waits for."""
        writes = [effect.node for effect in self._by_variable.get(variable, []) if variable in effect.writes[:1]]
        if writes and read not in self._waits:
            self._waits[read] = self._graph.ancestors([read], self._analysed.tower_ends, controls=True)
        return next((name for name in reversed(writes) if name in self._waits[read]), None)


class _UnknownError(Exception):
    """A tensor that has no number."""


class _Evaluation:
    """One evaluation, which computes each node once."""

    def __init__(self, updates: ScalarUpdates, given: Mapping[str, float], steps: float) -> None:
        self._of, self._given, self._steps = updates, given, steps
        self._known: Dict[str, float] = {}
        self._graph, self._analysed, self._writes = updates._graph, updates._analysed, updates._writes

    def of(self, tensor: TensorId) -> float:
        name = tensor.node
        if name not in self._known:
            self._known[name] = float(self._given[name]) if name in self._given else self._computed(tensor)
        return self._known[name]

    def _computed(self, tensor: TensorId) -> float:
        name, kind, inputs = tensor.node, self._graph.type(tensor.node), self._graph.inputs(tensor.node)
        constant = self._analysed.imported.constant(*tensor) if kind not in op_types.VARIABLES else None
        if constant is not None and np.size(constant):
            values = np.unique(np.asarray(constant, np.float64))
            if values.size != 1:
                raise _UnknownError
            return float(values[0])
        if name in self._writes:
            return self._assigned(name)
        if name in self._of._variables:
            return self._first(name)
        if kind in _PASSES and inputs:
            before = inputs[0]
            if before.node not in self._of._variables:
                return self.of(before)
            done = self._of._done_before(before.node, name)
            return self._first(before.node) if done is None else self._assigned(done)
        if kind not in _FUNCTIONS:
            raise _UnknownError
        return float(_FUNCTIONS[kind](*map(self.of, inputs)))

    def _first(self, variable: str) -> float:
        if variable in self._given:
            return self._given[variable]
        if self._analysed.is_counter(variable):
            return self._steps
        number = None if self._analysed.is_changed(variable) else first_value(self._analysed.whole, variable)
        if number is None:
            raise _UnknownError
        return number

    def _assigned(self, name: str) -> float:
        """The number that an assignment leaves in its variable."""
        effect = self._writes[name]
        if len(effect.values) != 1 or effect.condition is not None:
            raise _UnknownError
        value = self.of(parse_tensor_name(effect.values[0]))
        if effect.op in op_types.SETS:
            return value
        if effect.op not in (*op_types.ADDS, "AssignSub", "AssignSubVariableOp"):
            raise _UnknownError
        return self._first(effect.writes[0]) + (-value if "Sub" in effect.op else value)
