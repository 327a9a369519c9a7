"""Counts at which a staircase of a saved graph rises: where a multiple of a counter reaches a whole number.

`exponential_decay(step * batch, 200000, 0.7, staircase=True)` has no step among its constants: it decays at
200000 / batch, and so does the decay of a batch norm's statistics that is computed alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator
from typing import NamedTuple

from legacy.saved.graph.imported import ImportedGraph
from parity.coverage.changed_constants import FACTOR
from parity.coverage.visits.counted_numbers import LARGEST, PASSES
from workloads.lifted.graph import Graph, Use
from workloads.lifted.plan import Plan

#: Ops that round a number down, alone or after they divide it.
_FLOORS = ("Floor", "FloorDiv")
_MULTIPLIES, _DIVIDES = ("Mul",), ("RealDiv", "Div", "FloorDiv")
_ADDS, _BOUNDS = ("Add", "AddV2"), ("Maximum", "Minimum")
#: Ops of either order of inputs.
_EITHER = (*_MULTIPLIES, *_ADDS, *_BOUNDS)
#: Stairs that are looked for, of each staircase.
STAIRS = (1, 2)
#: Most stairs among which that one is looked for whose count tells a constant from one that is changed by `FACTOR`.
MOST_STAIRS = 200


def stairs_of(plan: Plan, graph: Graph, counters: Collection[str]) -> list[int]:
    """Finds the first counts at which staircases of counters rise.

    Args:
      plan: of a lift.
      graph: of the lift.
      counters: names of variables that count.

    Returns:
      The counts from 2 on, each once, rising: where a floor of a multiple of a counter becomes 1 and 2, and the first
      one that it would not reach there if a mutant changed the multiple.
    """
    imported = ImportedGraph(graph)
    readers = [tensor.partition(":")[0] for tensor, variable in plan.aliases.items() if variable in counters]
    todo = [(name, _Line(1.0, 0.0)) for name in readers]
    seen: set[str] = set()
    counts: set[int] = set()
    while todo:
        name, line = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for use in graph.users(name):
            step = _step(graph, imported, use)
            if step is None:
                continue
            after = line.then(step)
            if graph.type(use.node) in _FLOORS:
                counts |= {after.count_at(stair) for stair in (*STAIRS, *_telling_stair(1 / after.multiple))}
            else:
                todo.append((use.node, after))
    return sorted(count for count in counts if 2 <= count < LARGEST)


class _Line(NamedTuple):
    """A number that rises with the count: count * multiple + offset, where no bound takes its place."""

    multiple: float
    offset: float

    def then(self, other: _Line) -> _Line:
        """Returns what another line makes of this number."""
        return _Line(self.multiple * other.multiple, self.offset * other.multiple + other.offset)

    def count_at(self, value: int) -> int:
        """Returns the first count at which the number reaches a value."""
        return math.ceil((value - self.offset) / self.multiple)


def _telling_stair(length: float) -> Iterator[int]:
    """Yields the first stair that a whole number of counts reaches, and would not reach with a longer one.

    >>> list(_telling_stair(6.3)), list(_telling_stair(20.0))
    ([3], [1])
    """
    stairs = range(1, MOST_STAIRS + 1)
    yield from itertools.islice((k for k in stairs if math.ceil(k * length) < k * length * FACTOR), 1)


def _step(graph: Graph, imported: ImportedGraph, use: Use) -> _Line | None:
    """Returns what a node with one constant makes of an input; None of a node that does something else."""
    kind = graph.type(use.node)
    if kind in PASSES or kind == "Floor":
        return _Line(1.0, 0.0)
    if kind not in (*_MULTIPLIES, *_DIVIDES, *_ADDS, *_BOUNDS, "Sub") or (kind not in _EITHER and use.position == 1):
        return None
    value = imported.constant(*graph.inputs(use.node)[1 - use.position])
    if value is None or value.size != 1:
        return None
    number = float(value.item())
    if kind in _BOUNDS:
        return _Line(1.0, 0.0)
    if kind in _ADDS or kind == "Sub":
        return _Line(1.0, -number if kind == "Sub" else number)
    if not number > 0:
        return None
    return _Line(number if kind in _MULTIPLIES else 1.0 / number, 0.0)
