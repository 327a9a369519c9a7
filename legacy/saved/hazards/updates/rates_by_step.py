"""Hazards of learning rates as functions of the step: evaluated far behind the first steps."""

from __future__ import annotations

import math
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import applied_rate
from legacy.saved.hazards.basics.evaluation import evaluate
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.updates.constants import growing_learning_rates, rate_by_hand
from workloads.lifted.graph import TensorId

#: Steps at which a rate is evaluated, and the factors between the last ones that tell growth without a bound.
STEPS = (0, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7, 10**8)
GROWTH = 5.0
#: The factor between steps at which a rate is looked for that is nearly 0, and the part of the first rate that is.
FINE, NEARLY_ZERO = 1.1, 0.01
#: The first steps that shrink a rate, the largest factor of each that is reported, and how much they may differ.
SHRINKING, LARGEST_FACTOR, SAME_FACTOR = 12, 0.965, 1e-3
#: The values of a piecewise constant rate from which on it is no warmup by one step.
LEAST_VALUES = 3
#: The least factor between such values that are in the opposite order: those of a warmup by steps are nearer.
LEAST_RISE = 3.0
#: The part of a rate that is as good as nothing.
NEARLY_NOTHING = 1e-6


def rates_that_turn(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds learning rates that a late step makes negative, or larger in each decade of steps; one hazard for all."""
    for taken in _rates(whole):
        counter = _counter(whole, taken.node)
        if counter is None:
            continue
        values = [_value(whole, taken, counter, step) for step in STEPS]
        first, last = values[0], values[-3:]
        if first is not None and first >= 0 and any(value is not None and value < 0 for value in values):
            step = _first_negative(whole, taken, counter)
            yield Hazard(
                "LEARNING_RATE_NEGATIVE",
                taken.node,
                f"the learning rate {taken.node} falls below 0 from step {step} of {counter} on: a program that trains "
                "on then climbs its loss",
                "tf.maximum of the rate and its final value; for parity end the training before that step",
            )
            return
        numbers = [value for value in last if value is not None and value > 0]
        grows = len(numbers) == 3 and numbers[1] > GROWTH * numbers[0] and numbers[2] > GROWTH * numbers[1]
        grows = grows and not _comes_to_an_end(whole, taken, counter)
        if grows and not any(growing_learning_rates(whole)):  # which tells why, for a plain multiple of the step
            yield Hazard(
                "LEARNING_RATE_GROWS",
                taken.node,
                f"the learning rate {taken.node} rises with {counter} without a bound: it is {numbers[0]:.4g} at step "
                f"{STEPS[-3]} and {numbers[1]:.4g} at step {STEPS[-2]}: are the branches of a warmup exchanged?",
                "the rising branch before the boundary; for parity keep it",
            )
            return


def rates_that_vanish(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds rates that each step multiplies by the whole decay, so that nothing is left soon; one hazard for all.

    The decay is a constant of the graph: a schedule of a few steps for each of them has the factor nowhere.
    """
    for taken in _rates(whole):
        counter = _counter(whole, taken.node, by_step=True)
        values = [] if counter is None else [_value(whole, taken, counter, step) for step in range(SHRINKING + 1)]
        numbers = [value for value in values if value is not None and value > 0]
        if len(numbers) <= SHRINKING:
            continue
        factors = [after / before for before, after in zip(numbers, numbers[1:])]
        is_same = max(factors) < LARGEST_FACTOR and max(factors) - min(factors) < SAME_FACTOR
        if is_same and _has_constant(whole, taken.node, factors[0]):
            steps = math.ceil(math.log(NEARLY_NOTHING, factors[0]))
            yield Hazard(
                "LEARNING_RATE_VANISHES",
                taken.node,
                f"each step multiplies the learning rate {taken.node} by {factors[0]:.3g}: from step {steps} of "
                f"{counter} on it is less than a millionth of its first value, and nothing trains; were epochs meant?",
                "decay_steps of an epoch or more; for parity keep it",
            )
            return


def _has_constant(whole: WholeGraph, name: str, number: float) -> bool:
    """Whether a node depends on a constant that is nearly a number."""
    before = whole.graph.ancestors([name], controls=False)
    values = [whole.value(one) for one in before if whole.graph.type(one) == "Const"]
    return any(value is not None and abs(value - number) < SAME_FACTOR for value in values)


def _comes_to_an_end(whole: WholeGraph, rate: TensorId, counter: str) -> bool:
    """Whether a rate falls to nearly 0 before it grows, as (1 - step / steps)^2, whose program ends there."""
    first = _value(whole, rate, counter, 0) or 0.0
    steps = dict.fromkeys(int(FINE**power) for power in range(int(math.log(STEPS[-1], FINE))))
    values = (_value(whole, rate, counter, step) for step in steps)
    return any(value is not None and value < NEARLY_ZERO * first for value in values)


def _rates(whole: WholeGraph) -> list[TensorId]:
    """The different learning rates of the update rules that a step runs, in the order of these."""
    rates = []
    for apply in [apply for apply in whole.applies if apply in whole.members]:
        by_hand = rate_by_hand(whole, apply)
        rates.append(applied_rate(whole, apply) or (TensorId(by_hand, 0) if by_hand else None))
    return [rate for rate in dict.fromkeys(rates) if rate is not None]


def _counter(whole: WholeGraph, name: str, by_step: bool = False) -> str | None:
    """The one scalar variable that a rate depends on and that something advances; None without one, or several.

    Args:
      whole: the graph.
      name: the rate's node.
      by_step: whether the train step itself advances it, and not the program after each epoch.
    """
    before = whole.graph.ancestors([name], controls=False)
    writes = {op: variable for op, variable in whole.writes.items() if op in whole.members or not by_step}
    advanced = {variable for op, variable in writes.items() if _advances(whole, op, variable)}
    counters = [variable for variable in sorted(before & advanced) if whole.is_scalar(variable)]
    return counters[0] if len(counters) == 1 else None


def _advances(whole: WholeGraph, op: str, variable: str) -> bool:
    """Whether an op adds to a variable, or assigns its value plus a constant above 0 to it."""
    graph = whole.graph
    if graph.type(op) in op_types.ADDS or graph.type(op) not in op_types.SETS:
        return graph.type(op) in op_types.ADDS
    value = graph.inputs(op)[1].node
    terms = [tensor.node for tensor in graph.inputs(value)] if graph.type(value) in op_types.SUMS_OF_TWO else []
    numbers = [whole.value(term) for term in terms if variable_read(graph, term) != variable]
    return len(terms) == 2 and len(numbers) == 1 and (numbers[0] or 0.0) > 0


def _value(whole: WholeGraph, rate: TensorId, counter: str, step: int) -> float | None:
    """The rate at a step; variables that nothing advances have their first value, taken for 0."""
    before = whole.graph.ancestors([rate.node], controls=False)
    scalars = [name for name in before if whole.graph.type(name) in op_types.VARIABLES and whole.is_scalar(name)]
    given = {TensorId(name, 0): float(step if name == counter else 0) for name in scalars}
    return evaluate(whole, rate, given)


def _first_negative(whole: WholeGraph, rate: TensorId, counter: str) -> int:
    """The first step at which a rate is negative, by halving behind the last finer one where it is not."""
    fine = dict.fromkeys(int(FINE**power) for power in range(int(math.log(STEPS[-1], FINE))))
    steps = sorted({*fine, *STEPS})
    first = next(place for place, step in enumerate(steps) if (_value(whole, rate, counter, step) or 0.0) < 0)
    low, high = steps[first - 1], steps[first]
    while high - low > 1:
        middle = (low + high) // 2
        below = (_value(whole, rate, counter, middle) or 0.0) < 0
        low, high = (low, middle) if below else (middle, high)
    return high


def intervals_of_no_step(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds the interval of a piecewise constant rate that ends before it begins; one hazard for all."""
    graph = whole.graph
    for taken in _rates(whole):
        before = graph.ancestors([taken.node], controls=False)
        for name in [name for name in before if graph.type(name) == "LogicalAnd"]:
            bounds = dict(filter(None, (_bound(whole, tensor.node) for tensor in graph.inputs(name))))
            if set(bounds) == {"low", "high"} and bounds["low"] >= bounds["high"]:
                yield Hazard(
                    "BOUNDARIES_NOT_ASCENDING",
                    name,
                    f"a value of the learning rate {taken.node} holds above {bounds['low']:g} and "
                    f"up to {bounds['high']:g}, which is no step at all: the boundaries do not ascend",
                    "boundaries in ascending order; for parity keep them",
                )
                return


def rates_that_rise_in_steps(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds piecewise constant rates of three values or more, each several times the one before; one for all."""
    for taken in _rates(whole):
        counter = _counter(whole, taken.node)
        before = whole.graph.ancestors([taken.node], controls=False)
        numbers = {whole.value(name) for name in before if whole.graph.type(name) == "Const"}
        bounds = sorted({int(number) for number in numbers if number is not None and number > 1})
        if counter is None or len(bounds) < LEAST_VALUES - 1:
            continue
        starts = [0, *(bound + 1 for bound in bounds)]
        values = [_value(whole, taken, counter, step) for step in starts]
        middles = [(start + end) // 2 for start, end in zip(starts, [*bounds, 2 * bounds[-1]])]
        is_flat = values == [_value(whole, taken, counter, step) for step in middles]
        known = [value for value in values if value is not None]
        if (
            is_flat
            and len(known) == len(values)
            and all(after >= LEAST_RISE * one for one, after in zip(known, known[1:]))
        ):
            yield Hazard(
                "LEARNING_RATE_RISES",
                taken.node,
                f"the learning rate {taken.node} rises at each of its boundaries, from {known[0]:.3g} to "
                f"{known[-1]:.3g}: are its values in the opposite order?",
                "values in descending order; for parity keep them",
            )
            return


def _bound(whole: WholeGraph, name: str) -> tuple[str, float] | None:
    """("low" or "high", the number) of a comparison with a constant; None for any other node."""
    sides = {"Greater": "low", "GreaterEqual": "low", "Less": "high", "LessEqual": "high"}
    side = sides.get(whole.graph.type(name))
    number = whole.value(whole.graph.inputs(name)[1].node) if side else None
    return None if side is None or number is None else (side, number)
