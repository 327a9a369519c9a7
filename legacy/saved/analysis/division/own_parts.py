"""Parts of what is computed once for all towers, such as a carried state of all examples: tower k takes part k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.batch_slices import SPLITS
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.plan.records import OwnParts


class FoundParts(NamedTuple):
    """Parts that towers take of tensors that are computed once.

    Attributes:
      own: where tower k takes part k of as many equal parts as there are towers.
      others: where they take other outputs or slices, in words.
    """

    own: list[OwnParts]
    others: list[str]


def find_own_parts(
    graph: Graph,
    imported: ImportedGraph,
    aliases: Mapping[TensorId, str],
    taken: Sequence[Mapping[TensorId, TensorId]],
) -> FoundParts:
    """Finds the parts that towers take of tensors that are computed once.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      aliases: {tensor: variable} of tensors that are a variable.
      taken: for each tower but the first, {tensor of the first tower: the other tensor that this tower takes}.

    Returns:
      The parts.
    """
    found = FoundParts([], [])
    for first in dict.fromkeys(first for parts in taken for first in parts):
        row = [first, *(parts.get(first, first) for parts in taken)]
        whole = _whole(graph, first)
        name = aliases.get(whole, whole.node)
        if _numbers(graph, imported, row) == list(range(len(row))):
            found.own.append(OwnParts(name, [tensor.name for tensor in row]))
            continue
        found.others.extend(
            f"tower 0 and tower {tower}: {first.name} against {other.name}, other parts of {name}"
            for tower, other in enumerate(row)
            if other != first
        )
    return found


def takes_another_slice(graph: Graph, first: TensorId, other: TensorId) -> bool:
    """Says whether two towers take different slices of one tensor, by constant bounds.

    Args:
      graph: the subgraph that a step runs.
      first: what one tower takes.
      other: what another one takes.

    Returns:
      Whether it is so; bounds are compared by value.
    """
    kinds = {graph.type(first.node), graph.type(other.node)}
    inputs, others = graph.inputs(first.node), graph.inputs(other.node)
    if len(kinds) > 1 or not kinds <= {"Slice", "StridedSlice"} or inputs[0] != others[0]:
        return False
    bounds = [graph.nodes[tensor.node] for tensor in (*inputs[1:], *others[1:])]
    if any(node.op != "Const" for node in bounds):  # which would get an attribute by being asked for it
        return False
    values = [node.attr["value"] for node in bounds]
    return values[: len(values) // 2] != values[len(values) // 2 :]


def _whole(graph: Graph, part: TensorId) -> TensorId:
    """Returns the tensor that a part is of."""
    inputs = graph.inputs(part.node)
    return inputs[op_types.divided_input(graph.type(part.node))] if inputs else part


def _numbers(graph: Graph, imported: ImportedGraph, row: Sequence[TensorId]) -> list[int | None]:
    """Returns the number of the part that each tensor of a row is; None of one that is no such part."""
    if graph.type(row[0].node) in SPLITS:
        return [tensor.output for tensor in row]
    whole = imported.shape(*_whole(graph, row[0]))
    if not whole or not whole[0] or whole[0] % len(row):
        return [None] * len(row)
    size = whole[0] // len(row)
    rows = [_rows(graph, imported, tensor.node, whole) for tensor in row]
    return [start // size if start % size == 0 and end == start + size else None for start, end in rows]


def _rows(graph: Graph, imported: ImportedGraph, node: str, whole: Sequence[int | None]) -> tuple[int, int]:
    """Returns the first row that a slice takes, and one after the last; (0, 0) where it takes less than whole rows."""
    begin, second = (imported.constant(*tensor) for tensor in graph.inputs(node)[1:3])
    if begin is None or second is None:
        return 0, 0
    if graph.type(node) == "Slice":
        whole_rows = all(size in (-1, known) for size, known in zip(second[1:], whole[1:]))
        end = int(whole[0] or 0) if second[0] == -1 else int(begin[0] + second[0])
        return (int(begin[0]), end) if whole_rows else (0, 0)
    masks = graph.nodes[node].attr
    strides = imported.constant(*graph.inputs(node)[3])
    open_ends = [bool((masks["begin_mask"].i & masks["end_mask"].i) >> axis & 1) for axis in range(1, len(begin))]
    others = masks["new_axis_mask"].i or masks["ellipsis_mask"].i or masks["shrink_axis_mask"].i & ~1
    if others or strides is None or np.any(strides != 1) or not all(open_ends):
        return 0, 0
    start = 0 if masks["begin_mask"].i & 1 else int(begin[0])
    if masks["shrink_axis_mask"].i & 1:
        return start, start + 1
    return start, int(whole[0] or 0) if masks["end_mask"].i & 1 else int(second[0])
