"""Counts at which a staircase of a saved graph rises: where a multiple of a counter reaches a whole number.

`exponential_decay(step * batch, 200000, 0.7, staircase=True)` has no step among its constants: it decays at
200000 / batch, and so does the decay of a batch norm's statistics that is computed alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator

from legacy.saved.graph.imported import ImportedGraph
from parity.coverage.changed_constants import FACTOR
from parity.coverage.visits.counted_numbers import LARGEST
from workloads.lifted.graph import Graph, Use
from workloads.lifted.plan import Plan

#: Ops that pass a number on.
_PASSES = ("Cast", "Identity", "ReadVariableOp", "Reshape", "Squeeze", "ToFloat")
#: Ops that round a number down, alone or after they divide it.
_FLOORS = ("Floor", "FloorDiv")
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
    todo = [(name, 1.0) for name in readers]
    seen: set[str] = set()
    counts: set[int] = set()
    while todo:
        name, multiple = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for use in graph.users(name):
            factor = _factor(graph, imported, use)
            if factor is None:
                continue
            if graph.type(use.node) in _FLOORS:
                length = 1 / (multiple * factor)
                counts |= {math.ceil(stair * length) for stair in (*STAIRS, *_telling_stair(length))}
            else:
                todo.append((use.node, multiple * factor))
    return sorted(count for count in counts if 2 <= count < LARGEST)


def _telling_stair(length: float) -> Iterator[int]:
    """Yields the first stair that a whole number of counts reaches, and would not reach with a longer one.

    >>> list(_telling_stair(6.3)), list(_telling_stair(20.0))
    ([3], [1])
    """
    stairs = range(1, MOST_STAIRS + 1)
    yield from itertools.islice((k for k in stairs if math.ceil(k * length) < k * length * FACTOR), 1)


def _factor(graph: Graph, imported: ImportedGraph, use: Use) -> float | None:
    """Returns the positive constant that a node multiplies an input by; None of a node that does something else."""
    kind = graph.type(use.node)
    if kind in _PASSES or kind == "Floor":
        return 1.0
    if kind not in ("Mul", "RealDiv", "Div", "FloorDiv") or (kind != "Mul" and use.position == 1):
        return None
    value = imported.constant(*graph.inputs(use.node)[1 - use.position])
    if value is None or value.size != 1 or not float(value.item()) > 0:
        return None
    return float(value.item()) if kind == "Mul" else 1.0 / float(value.item())
