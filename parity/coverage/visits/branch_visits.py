"""Visits of a lifted program with predicates: states in which each predicate takes its other branch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from legacy.saved.graph.imported import imported_graph
from parity.comparison.tour import Visit
from parity.coverage.graph.boundaries import COMPARISONS, REMAINDERS
from parity.coverage.graph.changed_numbers import ASK_FINITE
from parity.coverage.graph.step_functions import functions_of_step
from parity.coverage.visits.changed_states import times, weights_times
from parity.coverage.visits.counted_numbers import scalar_value
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Variable
from workloads.lifted.workload import KINDS, LiftedWorkload
from workloads.program import State

#: Op that ends a step of numbers that are not finite.
_CHECK = "CheckNumerics"
#: Ops that decide by numbers of steps, or compute these.
_DECISIONS = {*COMPARISONS, *REMAINDERS, "Equal", "NotEqual"}
#: A longer period is not searched: a run of so many steps would show it as well.
LONGEST_PERIOD = 10**6
#: Powers of 2 between a weight near the largest number and that number; factor on weights for larger gradients.
MARGIN, STEEP = 28, 1024.0


class Deciders(NamedTuple):
    """The numbers that decide the course of a step, such as the branches it takes.

    Attributes:
      counters: integer scalars that predicates are computed from.
      numbers: whole numbers, from 2 on, that predicates compare with or divide by.
      periods: the numbers that predicates divide by.
      period: predicates of remainders are the same after so many counts; 1 without any.
      scales: float scalars that a branch changes, such as a loss scale.
      ask_finite: whether a predicate or an update asks if numbers are finite.
    """

    counters: list[Variable]
    numbers: list[int]
    periods: list[int]
    period: int
    scales: list[Variable]
    ask_finite: bool


def find_deciders(workload: LiftedWorkload) -> Deciders | None:
    """Returns the numbers that decide in which branches a lift changes variables, and at which steps it computes what.

    Returns:
      The numbers; None if it changes variables in no branch, compares no counter with whole numbers, and asks nowhere
      whether numbers are finite.
    """
    plan, graph = workload.plan, workload.graph
    effects = [e for phase in plan.phases for e in phase.effects if e.condition is not None]
    of_step = functions_of_step(graph, graph.nodes)
    predicates = [condition.predicate for effect in effects for condition in effect.conditions]
    asks = _asks_finite(workload, predicates)
    if not effects and not asks and not any(graph.type(name) in _DECISIONS for name in of_step):
        return None
    whole = _whole_numbers_before(graph, predicates) | graph.ancestors(of_step, controls=False)
    names = {plan.aliases[f"{node}:0"] for node in whole if f"{node}:0" in plan.aliases}
    changed = {name for effect in effects for name in effect.writes}
    scalars = [v for v in plan.variables if not v.shape and KINDS[v.role] == "statistics"]
    values = {node: scalar_value(graph, node) for node in whole}
    numbers = {node: int(value) for node, value in values.items() if value and value >= 2 and value == int(value)}
    divisors = {graph.inputs(node)[1].node for node in whole if graph.type(node) in REMAINDERS}
    periods = sorted({number for node, number in numbers.items() if node in divisors})
    period = math.lcm(*periods)
    return Deciders(
        counters=[v for v in scalars if v.name in names and "int" in v.dtype],
        numbers=sorted(set(numbers.values())),
        periods=periods,
        period=period if period <= LONGEST_PERIOD else 1,
        scales=[v for v in scalars if v.name in changed and "float" in v.dtype],
        ask_finite=asks,
    )


def _asks_finite(workload: LiftedWorkload, predicates: list[str]) -> bool:
    """Whether branches, or replaced gradients, depend on which numbers are finite; not where others end the step."""
    plan, graph = workload.plan, workload.graph
    deciding = graph.ancestors([parse_tensor_name(name).node for name in predicates], controls=False)
    values = [parse_tensor_name(name).node for phase in plan.phases for e in phase.effects for name in e.values]
    types = {graph.type(node) for node in graph.ancestors(values, controls=False)}
    replaces = bool(types & ASK_FINITE) and _CHECK not in types
    return replaces or any(graph.type(node) in {*ASK_FINITE, _CHECK} for node in deciding)


def overflowing(last: State, deciders: Deciders) -> Iterator[Visit]:
    """Makes states whose gradients overflow, so that a step which asks for finite ones is skipped.

    Args:
      last: the state after the ordinary steps.
      deciders: of the program.

    Yields:
      the visits: of the largest loss scale; with larger weights; of weights near the largest number.
    """
    if not deciders.ask_finite:
        return
    largest = _with_statistics(last, {v.name: float(np.finfo(v.dtype).max) for v in deciders.scales})
    text = ", ".join(f"{v.name} at the largest number" for v in deciders.scales)
    if text:
        yield Visit(text, largest)
        steep = weights_times(largest, STEEP)
        yield steep._replace(name=f"{text}, {steep.name}")
    ones = _with_statistics(last, {v.name: 1.0 for v in deciders.scales})
    at = "".join(f", {v.name} at 1" for v in deciders.scales)
    near = {name: times(value, _near_largest(value.dtype)) for name, value in last.weights.items()}
    yield Visit(f"weights near the largest number{at}", dataclasses.replace(ones, weights=near))


def before_numbers(visit: Visit, deciders: Deciders) -> Iterator[Visit]:
    """Moves the counters of a visit to one count before the numbers that predicates compare them with.

    So that the steps that overflow are as many as a loss scale waits for before it falls.

    Args:
      visit: the visit.
      deciders: of the program.

    Yields:
      the visit with all counters that decide one count before a number, for each number.
    """
    for number in deciders.numbers if deciders.counters else ():
        text = ", ".join(f"{v.name} at {number - 1:,}" for v in deciders.counters)
        moved = _with_statistics(visit.state, {v.name: number - 1 for v in deciders.counters})
        yield visit._replace(name=f"{visit.name}, {text}", state=moved)


def in_other_branches(visit: Visit, deciders: Deciders) -> Iterator[Visit]:
    """Moves the counters of a visit to where predicates of remainders change.

    Args:
      visit: the visit.
      deciders: of the program.

    Yields:
      the visit with all counters that decide one count before a multiple of the period, and at a multiple; likewise
      where the half of a period ends.
    """
    halves = [rest for period in deciders.periods for rest in (period // 2 - 1, period // 2) if rest > 0]
    for rest in dict.fromkeys([deciders.period - 1, 0, *halves]) if deciders.period > 1 and deciders.counters else ():
        counts = {v.name: int(visit.state.statistics[v.name]) for v in deciders.counters}
        moved = {name: count - count % deciders.period + rest for name, count in counts.items()}
        text = ", ".join(f"{name} at {count:,}" for name, count in moved.items())
        yield visit._replace(name=f"{visit.name}, {text}", state=_with_statistics(visit.state, moved))


def _with_statistics(state: State, values: Mapping[str, float]) -> State:
    """Returns a state in which some statistics have other values."""
    given = {name: np.asarray(value, state.statistics[name].dtype) for name, value in values.items()}
    return dataclasses.replace(state, statistics={**state.statistics, **given})


def _near_largest(dtype: np.dtype) -> float:
    """Returns a number near the largest one of a dtype; 1 unless it is one of floats."""
    return float(2.0 ** (np.finfo(dtype).maxexp - MARGIN)) if dtype.kind == "f" else 1.0


def _whole_numbers_before(graph: Graph, predicates: list[str]) -> set[str]:
    """Returns the nodes that predicates are computed from by way of whole numbers and truth values alone."""
    imported = imported_graph(graph).tf_graph
    todo, seen = [parse_tensor_name(predicate) for predicate in predicates], set()
    while todo:
        tensor = todo.pop()
        if tensor.node in seen:
            continue
        dtype = imported.get_tensor_by_name(tensor.name).dtype.base_dtype
        if dtype.is_integer or dtype.is_bool:
            seen.add(tensor.node)
            todo += graph.inputs(tensor.node)
    return seen
