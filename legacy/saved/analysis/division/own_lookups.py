"""Lookups that a tower makes for itself, in place of one for all towers: the graph with splits of the indices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Dict

import tensorflow as tf

from legacy.saved.analysis.division.early_lookups import Lookup, LookupGradient, rank_of
from legacy.saved.analysis.division.places import first_places
from workloads.lifted.graph import Graph, TensorId, input_text, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy, unplaced_copy
from workloads.lifted.tensors.gradient_names import in_gradient_graphs

#: {op that takes parts of a tensor: number of the input that it takes them of}.
PARTED = {"Split": 1, "SplitV": 0, "StridedSlice": 0}


def with_own_lookups(graph: Graph, lookups: Iterable[Lookup]) -> Graph:
    """Returns a graph in which each tower looks up its own rows, in place of lookups for all towers.

    Args:
      graph: the subgraph that a step runs.
      lookups: those that `early_lookups` yields for it.
    """
    result = GraphCopy(graph)
    for lookup in lookups:
        indices: Dict[TensorId, TensorId] = {}
        for split in lookup.splits:
            name = _split_indices(graph, lookup, split, result)
            for part, users in _users_by_part(graph, split).items():
                indices[part] = TensorId(name, part.output)
                own = _own_lookup(graph, lookup, indices[part], users, result)
                for user, position in users:
                    result.nodes[user].input[position] = own
        for gradient in lookup.gradients:
            _take_own_rows(result, gradient, indices[gradient.part])
    return result.graph()


def _users_by_part(graph: Graph, split: str) -> dict[TensorId, list[tuple[str, int]]]:
    """{output of a split: (node, number of its input) of all that take it}."""
    found: dict[TensorId, list[tuple[str, int]]] = {}
    for user in dict.fromkeys(use.node for use in graph.users(split)):
        for position, tensor in enumerate(graph.inputs(user)):
            if tensor.node == split:
                found.setdefault(tensor, []).append((user, position))
    return found


def _split_indices(graph: Graph, lookup: Lookup, split: str, result: GraphCopy) -> str:
    """Adds a split of a lookup's indices, like that of its result; returns its name."""
    node = result.add_copy(unplaced_copy(graph.nodes[split], f"{split}/of_indices"))
    node.input[PARTED[node.op]] = input_text(lookup.indices)
    node.attr["T"].type = graph.nodes[lookup.name].attr["Tindices"].type
    if node.op == "StridedSlice":
        _forget_dimensions(graph, node, max(1, rank_of(graph, lookup.indices)), result)
    return node.name


def _forget_dimensions(graph: Graph, node: tf.compat.v1.NodeDef, rank: int, result: GraphCopy) -> None:
    """Leaves out of a slice what it says of further dimensions than the first ones, all of which it takes."""
    for position in range(1, 4):  # begin, end and strides
        places = parse_tensor_name(node.input[position])
        node.input[position] = first_places(graph, places, rank, f"{node.name}/first_{position}", result)
    for mask in ("begin_mask", "end_mask"):
        node.attr[mask].i &= (1 << rank) - 1


def _own_lookup(
    graph: Graph,
    lookup: Lookup,
    indices: TensorId,
    users: Iterable[tuple[str, int]],
    result: GraphCopy,
) -> str:
    """Adds the lookup of one part of the indices, on the device of the tower that uses it; returns its name."""
    name = f"{lookup.name}/of_part_{indices.output}_of_{indices.node}"
    node = result.add_copy(unplaced_copy(graph.nodes[lookup.name], name))
    forward = [user for user, _ in users if not in_gradient_graphs([user])]  # others give zeros of its shape
    node.device = graph.nodes[forward[0]].device if forward else ""
    node.input[1] = input_text(indices)
    return node.name


def _take_own_rows(result: GraphCopy, gradient: LookupGradient, indices: TensorId) -> None:
    """Gives a lookup's gradient the derivative by the tower's own rows, their indices and their number."""
    nodes = result.nodes
    size = result.add(f"{gradient.number}/of_part", "Size", [input_text(indices)], nodes[gradient.rows].device)
    size.attr["T"].type = nodes[gradient.rows].attr["T"].type
    size.attr["out_type"].type = nodes[gradient.number].attr["T"].type
    nodes[gradient.number].input[0] = size.name
    result.give(gradient.values, 0, gradient.derivative)
    result.give(gradient.rows, 0, indices)
