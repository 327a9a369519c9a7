"""Ops of a saved graph that compute with a counter, as far as the number that they take rises with the count."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from legacy.saved.graph.imported import ImportedGraph, imported_graph
from workloads.lifted.graph import Graph, TensorId, Use
from workloads.lifted.plan import Plan

#: Ops that pass a number on.
_PASSES = ("Cast", "Identity", "ReadVariableOp", "Reshape", "Squeeze", "Switch", "ToFloat")
_MULTIPLIES, _DIVIDES = ("Mul",), ("RealDiv", "Div", "FloorDiv")
_ADDS, _BOUNDS = ("Add", "AddV2"), ("Maximum", "Minimum")
#: Ops of either order of inputs.
_EITHER = (*_MULTIPLIES, *_ADDS, *_BOUNDS)
#: {op of two numbers: its result}.
_MADE_OF_NUMBERS: dict[str, Callable[[float, float], float]] = {
    "Add": operator.add,
    "AddV2": operator.add,
    "Mul": operator.mul,
    "RealDiv": operator.truediv,
    "Sub": operator.sub,
}
#: Ops that round a number down, alone or after they divide it.
FLOORS = ("Floor", "FloorDiv")


class Line(NamedTuple):
    """A number that rises with the count: count * multiple + offset, where no bound takes its place."""

    multiple: float
    offset: float

    def then(self, other: Line) -> Line:
        """Returns the composition with another linear function, which is applied to this number."""
        return Line(self.multiple * other.multiple, self.offset * other.multiple + other.offset)

    def count_at(self, value: int) -> int:
        """Returns the first count at which the number reaches a value."""
        return math.ceil((value - self.offset) / self.multiple)

    def first_stair(self) -> int:
        """Returns the first whole number from 1 on that it is below at a count of 0, as 2 of 1 + count / n."""
        return max(1, math.floor(self.offset) + 1)


class CounterUse(NamedTuple):
    """An op that takes a number which rises with the count.

    Attributes:
      kind: the op's type.
      after: what it makes of the count, without rounding.
      is_of_count: whether it takes the count itself, and not a multiple or a bound of it.
    """

    kind: str
    after: Line
    is_of_count: bool


def counter_uses(plan: Plan, graph: Graph, counters: Collection[str]) -> list[CounterUse]:
    """Finds the uses of counters, up to where a number is rounded down or meets more than a constant.

    Args:
      plan: of a lift.
      graph: of the lift.
      counters: names of variables that count.

    Returns:
      The uses, each once.
    """
    readers = [tensor.partition(":")[0] for tensor, variable in plan.aliases.items() if variable in counters]
    return list(_uses(graph, imported_graph(graph), readers)) if readers else []


def _uses(graph: Graph, imported: ImportedGraph, readers: list[str]) -> Iterator[CounterUse]:
    todo = [(name, Line(1.0, 0.0), True) for name in readers]
    seen: set[str] = set()
    while todo:
        name, line, is_count = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for use in graph.users(name):
            made = _made_of_input(graph, imported, use)
            if made is None:
                continue
            kind, after = graph.type(use.node), line.then(made)
            yield CounterUse(kind, after, is_count)
            if kind not in FLOORS:
                todo.append((use.node, after, is_count and kind in _PASSES))


def _made_of_input(graph: Graph, imported: ImportedGraph, use: Use) -> Line | None:
    """Returns a node with one constant as a linear function of its input; None for any other node."""
    kind = graph.type(use.node)
    if kind == "Floor" or (kind in _PASSES and use.position == 0):
        return Line(1.0, 0.0)
    if kind not in (*_MULTIPLIES, *_DIVIDES, *_ADDS, *_BOUNDS, "Sub") or (kind not in _EITHER and use.position == 1):
        return None
    number = _number(graph, imported, graph.inputs(use.node)[1 - use.position])
    if number is None:
        return None
    if kind in _BOUNDS:
        return Line(1.0, 0.0)
    if kind in _ADDS or kind == "Sub":
        return Line(1.0, -number if kind == "Sub" else number)
    if not number > 0:
        return None
    return Line(number if kind in _MULTIPLIES else 1.0 / number, 0.0)


def _number(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> float | None:
    """Returns a number that is a constant of the graph, or computed from constants, as in `step / (2.0 * length)`."""
    value = imported.constant(*tensor)
    if value is not None:
        return float(value.item()) if value.size == 1 else None
    kind = graph.type(tensor.node)
    if kind not in (*_MADE_OF_NUMBERS, *_PASSES) or kind == "Switch":
        return None
    taken = graph.inputs(tensor.node)[: 2 if kind in _MADE_OF_NUMBERS else 1]
    numbers = [_number(graph, imported, before) for before in taken]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or (kind == "RealDiv" and not known[1]):
        return None
    return _MADE_OF_NUMBERS[kind](*known) if kind in _MADE_OF_NUMBERS else known[0]
