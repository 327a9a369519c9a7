"""Copies the backward ops of overridden gradients before their op, where the forward pass of a source has them."""

from __future__ import annotations

import collections
from typing import Any, Dict, List

from legacy.saved.derivatives.overridden_gradients import GRADIENT_NAME, gradient_name
from legacy.source.overrides.backward import Backward, backward_of
from legacy.source.overrides.usual import is_usual
from workloads.lifted.graph import Graph, TensorId, tensor_name
from workloads.lifted.tensors.gradient_names import forward_name, in_gradient_graphs

#: Attribute of an op `IdentityN` of a value and its derivative by the first input of what computes it.
OVERRIDDEN = "_overridden_gradient"
#: Attribute of an op that stands for the gradient that a derivative is made from.
GIVEN_GRADIENT = "_given_gradient"
#: Name scopes, behind an op's name, of the copies of its backward ops, and of the op itself.
_COPIES, _VALUE, _GIVEN = "/overridden_gradient/", "/value", "/overridden_gradient/given"


def with_overridden_gradients(graph: Graph) -> Graph:
    """Returns a lift's graph in which each op whose gradient is overridden has its derivative beside its value.

    What is written is differentiated again; such an op is written as a function with a derivative of its own. A
    registered gradient that equals the usual one needs none.

    Args:
      graph: of the lift.

    Returns:
      The graph; the same one if there are no such ops.
    """
    found = [one for one in _overridden(graph) if not is_usual(graph, one)]
    if not found:
        return graph
    graph_def = type(graph.graph_def)()
    graph_def.CopyFrom(graph.graph_def)
    nodes = {node.name: node for node in graph_def.node}
    for backward in found:
        _mark(graph, graph_def, nodes[backward.op], backward)
    return Graph(graph_def)


def _overridden(graph: Graph) -> List[Backward]:
    """Returns the backward ops of the ops of one input whose gradient is overridden, as far as they can be told."""
    gradients = in_gradient_graphs(graph.nodes)
    names = [name for name in graph.nodes if name not in gradients and gradient_name(graph, name)]
    names = [name for name in names if len(graph.inputs(name)) == 1 and "T" in graph.nodes[name].attr]
    if not names:
        return []
    made: Dict[str, List[str]] = collections.defaultdict(list)
    for name in graph.nodes:
        forward = forward_name(name, graph.nodes) if name in gradients else None
        if forward is not None:
            made[forward].append(name)
    found = [backward_of(graph, name, made[name]) for name in names]
    return [one for one in found if one is not None]


def _mark(graph: Graph, graph_def: Any, node: Any, backward: Backward) -> None:
    """Puts an op's value and its derivative in the place of the op."""
    dtype, op = node.attr["T"].type, node.name
    value = graph_def.node.add()
    value.CopyFrom(node)
    value.name = op + _VALUE
    del value.attr[GRADIENT_NAME]
    given = graph_def.node.add(name=op + _GIVEN, op="Identity", input=[value.name], device=node.device)
    given.attr["T"].type = dtype
    given.attr[GIVEN_GRADIENT].b = True
    _copy(graph, graph_def, backward)
    result = given.name if backward.result is None else _moved(backward, backward.result)
    node.Clear()
    node.name, node.op, node.device = op, "IdentityN", value.device
    node.input.extend([value.name, result])
    node.attr["T"].list.type.extend([dtype, dtype])
    node.attr[OVERRIDDEN].b = True


def _copy(graph: Graph, graph_def: Any, backward: Backward) -> None:
    """Adds copies of the backward ops of an op, without the ops that they wait for."""
    for name in backward.members:
        copy = graph_def.node.add()
        copy.CopyFrom(graph.nodes[name])
        copy.name = _copy_name(backward, name)
        copy.attr.pop("_class", None)
        del copy.input[:]
        copy.input.extend(_moved(backward, tensor) for tensor in graph.inputs(name))


def _copy_name(backward: Backward, name: str) -> str:
    return f"{backward.op}{_COPIES}{backward.members.index(name)}"


def _moved(backward: Backward, tensor: TensorId) -> str:
    """Returns the text by which a copy of a backward op takes a tensor."""
    if tensor == backward.given:
        return backward.op + _GIVEN
    if tensor.node == backward.op:
        return tensor_name(backward.op + _VALUE, tensor.output)
    node = _copy_name(backward, tensor.node) if tensor.node in backward.members else tensor.node
    return tensor_name(node, tensor.output)


def is_backward_op(op: str, node: str) -> bool:
    """Returns whether a node is a copy of a backward op of an op."""
    return node.startswith(op + _COPIES)
