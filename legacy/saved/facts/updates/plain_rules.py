"""Names of update rules that are made of plain ops, as in Keras, found by evaluating them with a few numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.clipping import CLIPPING_SCOPES
from legacy.saved.facts.basics.scalar_updates import ScalarUpdates
from legacy.saved.graph import op_types
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Effect, Phase, weight_of_label
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Relative difference within which two numbers are equal: constants of a graph are of single precision.
NEAR = 1e-5
#: That of sums of a share and of its rest, which a graph may hold as two numbers; and of double precision.
NEAR_SUMS, EXACT = 1e-3, 1e-9
#: The number of steps after which no bias correction is left.
LATE = 1e7
#: Numbers at which a rule is evaluated: of a gradient, of an average of gradients, and of one of squares.
_GRADIENTS, _MEANS, _SQUARES = (0.007, -0.013, 0.021), (0.001, -0.002, 0.004), (1e-5, 4e-4, 3e-2)
_CLIPPED = ("Identity", "Mul", "ClipByValue", "Minimum", "Maximum", "RealDiv", "Div")
_WEIGHT = 1.7
#: Numbers of steps after which bias corrections are compared.
_COUNTS = (0, 2)


class PlainRule(NamedTuple):
    """A rule that plain ops compute.

    Attributes:
      name: that of an optimizer.
      constants: those of the rule, in words; its learning rate left out.
    """

    name: str
    constants: str


def plain_rule(analysed: AnalysedStep, phase: Phase, effect: Effect) -> Optional[PlainRule]:
    """Recognises RMSProp and Adam by the numbers that an assignment gives.

    Args:
      analysed: the training step.
      phase: the run.
      effect: an update of a weight by an assignment.

    Returns:
      The rule; None for any other, as one with a further term or whose gradient is scaled by norms.
    """
    if effect.condition is not None or len(effect.values) != 1:
        return None
    rule = _Rule(analysed, phase, effect)
    if not rule.gradient:
        return None
    if len(rule.slots) == 1:
        return rule.of_squares()
    return rule.of_two_averages() if len(rule.slots) == 2 else None


class _Rule:
    """One weight's update as a function of numbers."""

    def __init__(self, analysed: AnalysedStep, phase: Phase, effect: Effect) -> None:
        self._analysed, self._phase, self._effect = analysed, phase, effect
        self._weight = effect.writes[0]
        self._updates = ScalarUpdates(analysed, phase)
        combined = [entry.tensor for entry in phase.combine if weight_of_label(entry.weight) == self._weight]
        self.gradient = self._given_gradient(combined)
        graph = analysed.graph
        before = graph.ancestors([effect.node], {self.gradient}, controls=False)
        writes = {other.node: other for other in phase.effects if other is not effect}
        changed = {other.writes[0] for other in writes.values()}
        self._rate = self._own_rate(parse_tensor_name(analysed.learning_rate(effect) or "").node)
        self.slots = sorted(v.name for v in analysed.plan.variables if v.name in before & changed and self._is_slot(v))
        self._assigned = {other.writes[0]: other for other in writes.values()}

    def _own_rate(self, name: str) -> str:
        """The node of a learning rate that is not computed from 1 - b^t, as that of an Adam with its corrections."""
        graph = self._analysed.graph
        differences = [n for n in graph.ancestors([name], controls=False) if graph.type(n) == "Sub"] if name else []
        powers = [n for n in differences if graph.type(graph.origin(graph.inputs(n)[1]).node) == "Pow"]
        return "" if powers else name

    def _is_slot(self, variable: object) -> bool:
        return getattr(variable, "role", "") == "slot" and not self._analysed.is_counter(getattr(variable, "name", ""))

    def _given_gradient(self, combined: Sequence[str]) -> str:
        """The node whose result the rule takes as gradient: the combined one, or what clipping makes of it.

        Of one tower, the update may be a part of the tower: the gradient is then the last op of a backward pass.
        """
        graph, ends = self._analysed.graph, [parse_tensor_name(value).node for value in self._effect.values]
        names = {parse_tensor_name(tensor).node for tensor in combined}
        if self._analysed.plan.towers == 1:
            backward = {name for name in graph.nodes if is_gradient_op(name)}
            names = graph.ancestors(ends, backward, controls=False) & backward
        if len(names) != 1:
            return ""
        name = names.pop()
        while True:
            users = {use.node for use in graph.users(name) if CLIPPING_SCOPES.search(use.node)}
            ends = [user for user in users if graph.type(user) in _CLIPPED]
            if len(ends) != 1:
                return name
            name = ends[0]

    def _step(self, gradient: float, held: Sequence[float], steps: float, weight: float = _WEIGHT) -> float:
        """Returns the number that is added to the weight; NaN if that is not known."""
        value = self._number(self._effect.values[0], gradient, held, steps, weight)
        return -value if "Sub" in self._effect.op else value if "Add" in self._effect.op else value - weight

    def _number(
        self, tensor: str, gradient: float, held: Sequence[float], steps: float, weight: float = _WEIGHT
    ) -> float:
        given = {**dict(zip(self.slots, held)), self._weight: weight, self.gradient: gradient}
        if self._rate:
            given[self._rate] = 1.0
        value = self._updates.value(tensor, given, steps)
        return math.nan if value is None else value

    def _new(self, place: int, old: float, gradient: float) -> float:
        """Returns the number that a run sets a slot to; NaN if that is not known."""
        effect = self._assigned[self.slots[place]]
        if effect.op not in op_types.SETS or len(effect.values) != 1:
            return math.nan
        held = [0.25] * len(self.slots)
        held[place] = old
        return self._number(effect.values[0], gradient, held, 0.0)

    def _kept(self, place: int, power: int) -> Optional[float]:
        """The share b of a slot's new value b * old + (1 - b) * gradient ** power; None of any other slot."""
        share = self._new(place, 1.0, 0.0)
        if not 0 < share < 1:
            return None
        pairs = [(square, gradient) for square in _SQUARES for gradient in _GRADIENTS]
        wanted = [share * old + (1 - share) * gradient**power for old, gradient in pairs]
        return share if _equal([self._new(place, *pair) for pair in pairs], wanted, NEAR_SUMS) else None

    def of_squares(self) -> Optional[PlainRule]:
        """The rule whose only slot is an average of squares: RMSProp."""
        share = self._kept(0, 2)
        if share is None or not self._is_fixed([_SQUARES[0]]):
            return None
        squares = [self._new(0, old, gradient) for old, gradient in zip(_SQUARES, _GRADIENTS)]
        steps = [self._step(gradient, [old], 0.0) for old, gradient in zip(_SQUARES, _GRADIENTS)]
        found = _divisor(_GRADIENTS, steps, squares)
        return None if found is None else PlainRule("RMSProp", f"rho={_shown(share)}, {found.text()}")

    def of_two_averages(self) -> Optional[PlainRule]:
        """The rule with averages of gradients and of their squares: Adam, or RMSProp by the deviation."""
        for mean, square in ((0, 1), (1, 0)):
            beta1, beta2 = self._kept(mean, 1), self._kept(square, 2)
            pairs = [(low, high) if mean == 0 else (high, low) for low, high in zip(_MEANS, _SQUARES)]
            if beta1 is None or beta2 is None or not self._is_fixed(pairs[0]):
                continue
            means = [self._new(mean, old, gradient) for old, gradient in zip(_MEANS, _GRADIENTS)]
            squares = [self._new(square, old, gradient) for old, gradient in zip(_SQUARES, _GRADIENTS)]
            late = [self._step(gradient, held, LATE) for gradient, held in zip(_GRADIENTS, pairs)]
            spreads = [high - low**2 for low, high in zip(means, squares)]
            found = _divisor(_GRADIENTS, late, spreads)
            if found is not None and _equal([beta1], [beta2]):
                return PlainRule("CenteredRMSProp", f"rho={_shown(beta1)}, {found.text()}")
            found = _divisor(means, late, squares)
            if found is None:
                return None
            early = [self._step(_GRADIENTS[0], pairs[0], float(count)) for count in _COUNTS]
            name = _corrected(early, late[0], found.steps(means[0], squares[0], beta1, beta2))
            if name is None:
                return None
            return PlainRule(name, f"beta1={_shown(beta1)}, beta2={_shown(beta2)}, {found.text()}")
        return None

    def _is_fixed(self, held: Sequence[float]) -> bool:
        """Whether the step does not depend on the weight, as it does with a weight decay."""
        return _equal([self._step(0.007, held, LATE)], [self._step(0.007, held, LATE, 3.0 * _WEIGHT)])


class _Divisor(NamedTuple):
    """The divisor of a rule: the root of a number, with an epsilon added to it or within.

    Attributes:
      rate: the learning rate.
      epsilon: the number that is added.
      power: 1 where it is added to the root, 2 where it is within.
    """

    rate: float
    epsilon: float
    power: int

    def text(self) -> str:
        return f"epsilon={_shown(self.epsilon)}{' in the root' if self.power == 2 else ''}"

    def step(self, mean: float, square: float) -> float:
        return -self.rate * mean / (square ** (self.power / 2) + self.epsilon) ** (1 / self.power)

    def steps(self, mean: float, square: float, beta1: float, beta2: float) -> list[tuple[float, ...]]:
        """The steps of an Adam after some counts: with corrected moments, and with a corrected rate."""
        rests = [(1 - beta1 ** (count + 1), 1 - beta2 ** (count + 1)) for count in _COUNTS]
        moments = tuple(self.step(mean / one, square / two) for one, two in rests)
        return [moments, tuple(self.step(mean, square) * two**0.5 / one for one, two in rests)]


def _divisor(numerators: Sequence[float], steps: Sequence[float], squares: Sequence[float]) -> Optional[_Divisor]:
    """The divisor of steps -lr * n / (sqrt(s) + e), or of -lr * n / sqrt(s + e); None of any others."""
    if not all(map(math.isfinite, (*numerators, *steps, *squares))) or not all(steps) or min(squares) <= 0:
        return None
    quotients = -np.array(numerators) / np.array(steps)
    if quotients.min() <= 0:
        return None
    for power in (1, 2):
        left, roots = quotients**power, np.array(squares) ** (power / 2)
        slope, shift = np.polyfit(roots, left, 1)
        if slope > 0 and np.allclose(slope * roots + shift, left, rtol=EXACT, atol=0.0):
            epsilon = shift / slope
            is_none = abs(epsilon) < EXACT * roots.min()
            return _Divisor(slope ** (-1 / power), 0.0 if is_none else float(epsilon), power)
    return None


def _corrected(early: Sequence[float], late: float, steps: Sequence[Sequence[float]]) -> Optional[str]:
    """The name of an Adam by its first steps; None where they are neither corrected nor as the late one."""
    if any(_equal(early, own) for own in steps):
        return "Adam"
    return "Adam without bias correction" if _equal(early, [late] * len(early)) else None


def _equal(found: Sequence[float], wanted: Sequence[float], near: float = NEAR) -> bool:
    return all(abs(a - b) <= near * abs(b) for a, b in zip(found, wanted))


def _shown(number: float) -> str:
    """A number of single precision, as it was written.

    >>> _shown(0.8999999761581421), _shown(1.0000000116860974e-07)
    ('0.9', '1e-07')
    """
    return f"{float(np.float32(number)):.6g}"
