"""The mean of one tower's gradient over replicas: as its code computes it, or as its loss asks for.

Devices that take each other's results are one tower: what their code averages is gradients of several losses of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Combine, is_indices_label
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops between a mean and the one gradient that was made a list.
_JOINS = ("Identity", *op_types.JOINS)
#: Ops that hand a gradient on.
_COPIES = ("Identity", "Cast", *op_types.VIEWS)
#: Relative difference within which a factor is one over a number.
_TOLERANCE = 1e-5


def is_mean_of_one(graph: Graph, imported: ImportedGraph, of_gradients: Collection[str], target: TensorId) -> bool:
    """Returns whether a combined gradient is a mean over a list of one, or a sum that is divided by one.

    Numbers do not tell it: the mean of one gradient is its sum. At another number of replicas they differ.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      of_gradients: its nodes that depend on gradients.
      target: the gradient that the update gets.

    Returns:
      Whether it is such a mean.
    """
    todo, seen = [target.node], {target.node}
    while todo:
        name = todo.pop()
        kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
        if kind == "Mean" and _is_list_of_one(graph, of_gradients, inputs[0]):
            return True
        if kind in ("Mul", "RealDiv", "Div") and imported.constant(inputs[1]) == 1.0:
            return True
        behind = [before for before in inputs if before not in seen and before in of_gradients]
        todo += [before for before in behind if not is_gradient_op(before)]
        seen.update(behind)
    return False


def _is_list_of_one(graph: Graph, of_gradients: Collection[str], name: str) -> bool:
    """Returns whether a node makes a list of one gradient."""
    while graph.type(name) in _JOINS:
        joined = [tensor.node for tensor in graph.inputs(name) if tensor.node in of_gradients]
        if len(joined) != 1:
            return False
        name = joined[0]
    return graph.type(name) == "ExpandDims" or (graph.type(name) == "Pack" and len(graph.inputs(name)) == 1)


def is_mean_of_several(graph: Graph, of_gradients: Collection[str], combine: Combine) -> bool:
    """Returns whether a combined gradient is a mean over a list of several, or their sum divided by their number.

    Args:
      graph: the subgraph that a step runs.
      of_gradients: its nodes that depend on gradients.
      combine: the gradient, of one tower.

    Returns:
      Whether it is such a mean, perhaps with ops that hand it on behind it.
    """
    count, name = len(combine.parts[0]), parse_tensor_name(combine.tensor).node
    if combine.kind == "sum" and count > 1 and abs(combine.scale * count - 1) < _TOLERANCE:
        return True
    while graph.type(name) in _COPIES:
        name = graph.inputs(name)[0].node
    return graph.type(name) == "Mean" and _length(graph, of_gradients, graph.inputs(name)[0].node) > 1


def _length(graph: Graph, of_gradients: Collection[str], name: str) -> int:
    """Returns how many gradients a node makes a list of; 0 if it makes none."""
    while graph.type(name) == "Identity":
        name = graph.inputs(name)[0].node
    joined = [tensor.node for tensor in graph.inputs(name) if tensor.node in of_gradients]
    is_list = graph.type(name) == "Pack" or all(graph.type(one) == "ExpandDims" for one in joined)
    return len(joined) if graph.type(name) in (*op_types.JOINS, "Pack") and is_list else 0


def averaged_over_replicas(combine: Combine) -> Combine:
    """Returns how replicas combine a gradient of one tower whose loss is a mean over its examples: to a mean, too.

    Args:
      combine: the gradient as one tower's graph has it, which tells no sum from a mean.

    Returns:
      The combining; numbers of rows, and what the graph combines itself, stay as they are.
    """
    if combine.kind == "sum" and combine.scale == 1.0:
        return dataclasses.replace(combine, kind="mean")
    if combine.kind in ("sum", "concat") and not is_indices_label(combine.weight):
        return dataclasses.replace(combine, divided=True)
    return combine
