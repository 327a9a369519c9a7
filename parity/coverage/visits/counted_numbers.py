"""Counters of a saved graph, and whole numbers that it compares or combines them with, such as steps of a schedule."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import imported_graph
from parity.coverage.graph.boundaries import COMPARISONS
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Plan, Variable

#: The largest number that a counter is set to.
LARGEST = 2**31


def is_counted(plan: Plan, graph: Graph, variable: Variable) -> bool:
    """Returns whether a variable counts: a whole number, or a scalar that steps only add to, by an assignment too.

    Args:
      plan: of a lift.
      graph: of the lift.
      variable: of the plan.

    Returns:
      Whether it counts.
    """
    is_integer = variable.dtype in ("int32", "int64") and not variable.shape
    return is_integer or _is_only_added_to(plan, variable) or _is_assigned_counter(plan, graph, variable)


def _is_only_added_to(plan: Plan, variable: Variable) -> bool:
    """Returns whether every change of a scalar adds to it."""
    ops = {effect.op for phase in plan.phases for effect in phase.effects if variable.name in effect.writes}
    return not variable.shape and bool(ops) and ops <= set(op_types.ADDS)


def _is_assigned_counter(plan: Plan, graph: Graph, variable: Variable) -> bool:
    """Returns whether every change of a scalar assigns it itself plus a constant, as in `assign(t, t + 1)`."""
    effects = [effect for phase in plan.phases for effect in phase.effects if variable.name in effect.writes]
    if variable.shape or not effects:
        return False
    for effect in effects:
        name = parse_tensor_name(effect.values[0]).node if effect.op in op_types.SETS and effect.values else ""
        if name not in graph.nodes or graph.type(name) not in ("Add", "AddV2"):
            return False
        terms = graph.inputs(name)
        own = [term for term in terms if plan.aliases.get(term.name) == variable.name]
        others = [scalar_value(graph, term.node) for term in terms if term not in own]
        if len(own) != 1 or None in others:
            return False
    return True


def numbers_beside(plan: Plan, graph: Graph, counters: Collection[str]) -> list[int]:
    """Finds the numbers that scalars made of counters meet, as in `tf.minimum(step, 100)`.

    Args:
      plan: of a lift.
      graph: of the lift.
      counters: names of variables.

    Returns:
      The whole numbers from 2 on, each once, rising. A threshold between 0 and 1, as of a warm-up that is a part of the
      schedule, is this part of each of them.
    """
    imported = imported_graph(graph).tf_graph
    todo = [tensor.partition(":")[0] for tensor, variable in plan.aliases.items() if variable in counters]
    seen: set[str] = set()
    found: set[int] = set()
    parts: set[float] = set()
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
        found |= {last for last in _last_of_cycle(graph, name) if 2 <= last < LARGEST}
        parts |= {value for value in values if value and 0 < value < 1 and graph.type(name) in COMPARISONS}
    return sorted(found | {round(part * number) for part in parts for number in found if part * number >= 2})


def _last_of_cycle(graph: Graph, name: str) -> Iterator[int]:
    """Yields the count from which a cycle such as `mod(count + 4, 16)` begins again, if a node closes one: 12."""
    inputs = graph.inputs(name)
    if graph.type(name) not in ("FloorMod", "Mod") or graph.type(inputs[0].node) not in ("Add", "AddV2"):
        return
    length = scalar_value(graph, inputs[1].node)
    steps = [scalar_value(graph, tensor.node) for tensor in graph.inputs(inputs[0].node)]
    if length is not None:
        yield from (int(length - step) for step in steps if step is not None)


def scalar_value(graph: Graph, name: str) -> float | None:
    """Returns the number that a constant node is; None for other nodes, and for NaN and infinity."""
    if graph.type(name) != "Const":
        return None
    value = np.asarray(tf.make_ndarray(graph.nodes[name].attr["value"].tensor))
    is_number = value.shape == () and value.dtype.kind in "iuf" and bool(np.isfinite(value))
    return float(value) if is_number else None
