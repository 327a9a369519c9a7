"""Numbers that a saved graph subtracts from a counter, as a schedule that counts from the end of a warm-up on.

`piecewise_constant(step - 500, [10000], ...)` changes at 10500, which is none of its constants.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from legacy.saved.graph.imported import ImportedGraph
from parity.coverage.visits.counted_numbers import LARGEST, PASSES
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Plan


def behind_shifts(plan: Plan, graph: Graph, counters: Collection[str], numbers: Sequence[int]) -> list[int]:
    """Finds the counts at which a counter, less what is subtracted from it, is one of some numbers.

    Args:
      plan: of a lift.
      graph: of the lift.
      counters: names of variables that count.
      numbers: that a schedule is made of.

    Returns:
      The counts from 2 on, rising; none without such a subtraction.
    """
    imported = ImportedGraph(graph)
    todo = [tensor.partition(":")[0] for tensor, variable in plan.aliases.items() if variable in counters]
    seen: set[str] = set(todo)
    shifts: set[int] = set()
    while todo:
        for use in graph.users(todo.pop()):
            kind = graph.type(use.node)
            if kind in PASSES and use.position == 0 and use.node not in seen:
                seen.add(use.node)
                todo.append(use.node)
            value = imported.constant(*graph.inputs(use.node)[1]) if kind == "Sub" and use.position == 0 else None
            if value is not None and value.size == 1 and float(value.item()).is_integer():
                shifts.add(int(value.item()))
    counts = {number + shift for number in numbers for shift in shifts if shift > 0}
    return sorted(count for count in counts if 2 <= count < LARGEST)
