"""Nodes that stack rows again which another node unstacked, as where examples are dealt out to the towers in turn."""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping
from typing import NamedTuple

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, Use


def stacks_of(
    graph: Graph, imported: ImportedGraph, name: str, labels: Mapping[str, int], candidates: Collection[str]
) -> set[str]:
    """Returns the nodes that stack rows again which a node unstacked, where no two towers take the same row.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      name: of the node that may unstack rows.
      labels: {node: tower number}.
      candidates: nodes that may stack rows.

    Returns:
      The stacks, with the ops that give their rows a first dimension; none if a row goes elsewhere, too.
    """
    rows = [_row_of(graph, imported, use) for use in graph.users(name)] if _is_along_rows(graph, name, "Unpack") else []
    if not rows or any(row is None for row in rows):
        return set()
    known = [row for row in rows if row is not None]
    stacks, single = {row.stack for row in known}, {row.taker for row in known}
    if not stacks | single <= set(candidates):
        return set()
    others = {tensor.node for stack in stacks for tensor in graph.inputs(stack)} - single - {name}
    takers: dict[int, set[int]] = collections.defaultdict(set)
    for row in known:
        takers[row.output].add(labels[row.stack])
    is_dealt = len({labels[stack] for stack in stacks}) >= 2 and all(len(towers) == 1 for towers in takers.values())
    return stacks | single if is_dealt and not others else set()


class _Row(NamedTuple):
    """A row of what was unstacked, on its way into a stack.

    Attributes:
      output: its number.
      taker: the node that takes it: the stack, or an op that gives it a first dimension.
      stack: the node that stacks it.
    """

    output: int
    taker: str
    stack: str


def _row_of(graph: Graph, imported: ImportedGraph, use: Use) -> _Row | None:
    """Returns the row that a use takes into a stack, `tf.stack` or `tf.parallel_stack`; None for any other use."""
    if _is_along_rows(graph, use.node, "Pack"):
        return _Row(use.output, use.node, use.node)
    users = graph.users(use.node)
    if graph.type(use.node) != "ExpandDims" or [graph.type(user.node) for user in users] != ["ParallelConcat"]:
        return None
    axis = imported.constant(*graph.inputs(use.node)[1])
    return _Row(use.output, use.node, users[0].node) if axis is not None and int(axis) == 0 else None


def _is_along_rows(graph: Graph, name: str, op_type: str) -> bool:
    """Returns whether a node is of a type that stacks or unstacks, and does so along the first dimension.

    Of nodes of other types no attribute is read: that would set it.
    """
    return graph.type(name) == op_type and graph.nodes[name].attr["axis"].i == 0
