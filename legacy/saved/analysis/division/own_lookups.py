"""Lookups that a tower makes for itself, in place of one for all towers: the graph with splits of the indices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Dict

import tensorflow as tf

from legacy.saved.analysis.division.early_lookups import Lookup, LookupGradient, rank_of
from legacy.saved.analysis.division.places import first_places
from workloads.lifted.graph import Graph, TensorId, input_text, parse_tensor_name
from workloads.lifted.graph.tensor_names import forget_placement
from workloads.lifted.tensors.gradient_names import in_gradient_graphs

v1 = tf.compat.v1
#: {op that takes parts of a tensor: number of the input that it takes them of}.
PARTED = {"Split": 1, "SplitV": 0, "StridedSlice": 0}


def with_own_lookups(graph: Graph, lookups: Iterable[Lookup]) -> Graph:
    """Returns a graph in which each tower looks up its own rows, in place of lookups for all towers.

    Args:
      graph: the subgraph that a step runs.
      lookups: those that `early_lookups` yields for it.
    """
    result = v1.GraphDef()
    result.CopyFrom(graph.graph_def)
    nodes = {node.name: node for node in result.node}
    for lookup in lookups:
        indices: Dict[TensorId, TensorId] = {}
        for split in lookup.splits:
            name = _split_indices(graph, lookup, split, result)
            for part, users in _users_by_part(graph, split).items():
                indices[part] = TensorId(name, part.output)
                own = _own_lookup(graph, lookup, indices[part], users, result)
                for user, position in users:
                    nodes[user].input[position] = own
        for gradient in lookup.gradients:
            _take_own_rows(nodes, gradient, indices[gradient.part], result)
    return Graph(result)


def _users_by_part(graph: Graph, split: str) -> dict[TensorId, list[tuple[str, int]]]:
    """{output of a split: (node, number of its input) of all that take it}."""
    found: dict[TensorId, list[tuple[str, int]]] = {}
    for user in dict.fromkeys(use.node for use in graph.users(split)):
        for position, tensor in enumerate(graph.inputs(user)):
            if tensor.node == split:
                found.setdefault(tensor, []).append((user, position))
    return found


def _split_indices(graph: Graph, lookup: Lookup, split: str, result: tf.compat.v1.GraphDef) -> str:
    """Adds a split of a lookup's indices, like that of its result; returns its name."""
    node = _copy(graph, split, f"{split}/of_indices", result)
    node.input[PARTED[node.op]] = input_text(lookup.indices)
    node.attr["T"].type = graph.nodes[lookup.name].attr["Tindices"].type
    if node.op == "StridedSlice":
        _forget_dimensions(graph, node, max(1, rank_of(graph, lookup.indices)), result)
    return node.name


def _forget_dimensions(graph: Graph, node: tf.compat.v1.NodeDef, rank: int, result: tf.compat.v1.GraphDef) -> None:
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
    result: tf.compat.v1.GraphDef,
) -> str:
    """Adds the lookup of one part of the indices, on the device of the tower that uses it; returns its name."""
    node = _copy(graph, lookup.name, f"{lookup.name}/of_part_{indices.output}_of_{indices.node}", result)
    forward = [user for user, _ in users if not in_gradient_graphs([user])]  # others give zeros of its shape
    node.device = graph.nodes[forward[0]].device if forward else ""
    node.input[1] = input_text(indices)
    return node.name


def _take_own_rows(
    nodes: dict[str, tf.compat.v1.NodeDef],
    gradient: LookupGradient,
    indices: TensorId,
    result: tf.compat.v1.GraphDef,
) -> None:
    """Gives a lookup's gradient the derivative by the tower's own rows, their indices and their number."""
    size = result.node.add(name=f"{gradient.number}/of_part", op="Size", input=[input_text(indices)])
    size.device = nodes[gradient.rows].device
    size.attr["T"].type = nodes[gradient.rows].attr["T"].type
    size.attr["out_type"].type = nodes[gradient.number].attr["T"].type
    nodes[gradient.number].input[0] = size.name
    nodes[gradient.values].input[0] = input_text(gradient.derivative)
    nodes[gradient.rows].input[0] = input_text(indices)


def _copy(graph: Graph, name: str, copied: str, result: tf.compat.v1.GraphDef) -> tf.compat.v1.NodeDef:
    """Adds a copy of a node under another name, without its device; returns it."""
    node = result.node.add()
    node.CopyFrom(graph.nodes[name])
    forget_placement(node)
    node.name = copied
    return node
