"""Whole numbers that decide what a step does: from which step on, or every so many steps."""

from __future__ import annotations

from collections.abc import Collection

import tensorflow as tf

from legacy.saved.graph.op_types import RESOURCE_READS, VARIABLES
from parity.coverage.graph.boundaries import COMPARISONS
from workloads.lifted.graph import SWITCHES, Graph

#: Ops of the remainder of a division, whose second input is the period.
REMAINDERS = ("FloorMod", "Mod", "TruncateMod")
#: Ops that compare two numbers of any order.
_COMPARED = (*COMPARISONS, "Equal", "NotEqual")
#: Ops that hand a whole number on, or compute one from others.
_COMPUTED = (
    *("Identity", "Cast", "Add", "AddV2", "Sub", "Mul", "FloorDiv", "Div", "Maximum", "Minimum", "AssignAdd"),
    *REMAINDERS,
    *RESOURCE_READS,
    *SWITCHES,
)


def decisions(graph: Graph, nodes: Collection[str]) -> dict[str, set[str]]:
    """Finds the comparisons of step counters with whole numbers.

    Args:
      graph: the graph.
      nodes: names of the nodes to look at.

    Returns:
      {comparison: names of the nodes that it is computed from}, for comparisons of whole numbers that depend on a
      variable, and otherwise on constants alone.
    """
    found = {name: _computed_from(graph, name) for name in nodes if graph.type(name) in _COMPARED}
    return {name: before for name, before in found.items() if any(graph.type(node) in VARIABLES for node in before)}


def deciding_constants(graph: Graph, nodes: Collection[str]) -> set[str]:
    """Returns the names of the constants that `decisions` are computed from."""
    return {name for before in decisions(graph, nodes).values() for name in before if graph.type(name) == "Const"}


def is_period(graph: Graph, constants: Collection[str]) -> bool:
    """Returns whether nodes hold a number of steps after which remainders are the same again."""
    uses = [use for node in constants for use in graph.users(node)]
    return bool(uses) and all(graph.type(use.node) in REMAINDERS and use.position == 1 for use in uses)


def _computed_from(graph: Graph, comparison: str) -> set[str]:
    """The nodes that a comparison is computed from; none if other things than whole numbers are among them."""
    todo, before = [tensor.node for tensor in graph.inputs(comparison)], set[str]()
    while todo:
        name = todo.pop()
        if name in before:
            continue
        if graph.type(name) not in (*_COMPUTED, *VARIABLES, "Const") or not _is_whole(graph, name):
            return set()
        before.add(name)
        # Which branch a value comes from is no part of it.
        inputs = graph.inputs(name)[:1] if graph.type(name) in SWITCHES else graph.inputs(name)
        todo += [tensor.node for tensor in inputs]
    return before


def _is_whole(graph: Graph, name: str) -> bool:
    """Whether a node's result is of whole numbers."""
    attributes = graph.nodes[name].attr
    kinds = [attributes[key].type for key in ("DstT", "dtype", "T") if key in attributes]
    return bool(kinds) and tf.as_dtype(kinds[0]).is_integer
