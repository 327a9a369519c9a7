"""Whole numbers that a saved graph compares or combines its counters with, such as the steps of a schedule."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Plan

#: The largest number that a counter is set to.
LARGEST = 2**31


def numbers_beside(plan: Plan, graph: Graph, counters: Collection[str]) -> list[int]:
    """Finds the numbers that scalars made of counters meet, as in `tf.minimum(step, 100)`.

    Args:
      plan: of a lift.
      graph: of the lift.
      counters: names of variables.

    Returns:
      The whole numbers from 2 on, each once, rising.
    """
    imported = ImportedGraph(graph).tf_graph
    todo = [tensor.partition(":")[0] for tensor, variable in plan.aliases.items() if variable in counters]
    seen: set[str] = set()
    found: set[int] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        if any(tensor.shape.rank != 0 for tensor in imported.get_operation_by_name(name).outputs):
            continue
        todo += [use.node for use in graph.users(name)]
        values = [scalar_value(graph, tensor.node) for tensor in graph.inputs(name)]
        found |= {int(value) for value in values if value is not None and 2 <= value < LARGEST and value == int(value)}
    return sorted(found)


def scalar_value(graph: Graph, name: str) -> float | None:
    """Returns the number that a constant node is; None for other nodes, and for NaN and infinity."""
    if graph.type(name) != "Const":
        return None
    value = np.asarray(tf.make_ndarray(graph.nodes[name].attr["value"].tensor))
    is_number = value.shape == () and value.dtype.kind in "iuf" and bool(np.isfinite(value))
    return float(value) if is_number else None
