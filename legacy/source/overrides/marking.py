"""Copies the backward ops of overridden gradients before their op, where the forward pass of a source has them."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Dict, List, Optional

from legacy.saved.derivatives.overridden_gradients import GRADIENT_NAME, gradient_name, is_custom_gradient
from legacy.saved.graph.imported import imported_graph
from legacy.source.overrides.backward import Backward, backward_of
from legacy.source.overrides.usual import is_usual
from workloads.lifted.graph import Graph, TensorId, tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.tensors.gradient_names import forward_name, gradient_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import tensorflow as tf

#: Attribute of an op `IdentityN` of a value, its derivatives, and what these are by: the number of the derivatives.
OVERRIDDEN = "_overridden_gradient"
#: Attribute of an op that stands for the gradient that a derivative is made from.
GIVEN_GRADIENT = "_given_gradient"
#: Ops that limit a derivative, or choose its entries.
_LIMITS = ("ClipByValue", "Maximum", "Minimum", "Select", "SelectV2")
#: Name scopes, behind an op's name, of the copies of its backward ops, and of the op itself.
_COPIES, _VALUE, _GIVEN = "/overridden_gradient/", "/value", "/overridden_gradient/given"


def with_overridden_gradients(graph: Graph) -> Graph:
    """Returns a lift's graph in which each op whose gradient is overridden has its derivatives beside its value.

    What is written is differentiated again; such an op is written as a function with a derivative of its own. A
    registered gradient that equals the usual one needs none, and loses its name. So do functions that
    `tf.custom_gradient` decorates, where their derivative has a limit, which made-up numbers may not reach.

    Args:
      graph: of the lift.

    Returns:
      The graph; the same one if there are no such ops.
    """
    registered = [name for name in graph.nodes if gradient_name(graph, name)]
    return _with_derivatives(graph, [*registered, *custom_gradients(graph)], _needs_its_own)


def with_custom_gradients(graph: Graph) -> Graph:
    """Returns the same of all functions of one result that `tf.custom_gradient` decorates.

    Many are written as any other function: those whose gradient is the usual one in a form that needs less memory.

    Args:
      graph: of the lift.

    Returns:
      The graph; the same one if there are no such functions.
    """
    return _with_derivatives(graph, custom_gradients(graph), lambda graph, backward: True)


def custom_gradients(graph: Graph) -> List[str]:
    """Returns the ops of a graph that give the results of functions that `tf.custom_gradient` decorates."""
    return [name for name in graph.nodes if is_custom_gradient(graph, name)]


def _needs_its_own(graph: Graph, backward: Backward) -> bool:
    """Returns whether the usual derivative of an op may be another one, also where numbers do not show it."""
    if is_custom_gradient(graph, backward.op):
        return any(graph.type(name) in _LIMITS for name in backward.members)
    return not is_usual(graph, backward)


def _with_derivatives(graph: Graph, names: Sequence[str], wanted: Callable[[Graph, Backward], bool]) -> Graph:
    """Returns a graph in which ops have their derivatives beside their value, as far as these can be told.

    Args:
      graph: of the lift.
      names: of the ops.
      wanted: returns whether an op needs its derivatives; an overridden gradient that does not loses its name.

    Returns:
      The graph; the same one if no op changes. Ops inside of `while` loops do not.
    """
    gradients = gradient_nodes(graph)
    names = [name for name in names if name not in gradients]
    found = [one for one in _backward_ops(graph, names, gradients) if one is not None] if names else []
    if not found:
        return graph
    imported = imported_graph(graph).tf_graph
    result = GraphCopy(graph)
    in_loops = graph.frames()  # whose backward ops take what each iteration has left on a stack
    for backward in found:
        if wanted(graph, backward):
            if backward.op in in_loops:
                continue
            _mark(graph, result, backward, imported.get_operation_by_name(backward.op))
        elif not is_custom_gradient(graph, backward.op):
            del result.nodes[backward.op].attr[GRADIENT_NAME]
    return result.graph()


def _backward_ops(graph: Graph, names: Sequence[str], gradients: Collection[str]) -> Iterator[Optional[Backward]]:
    """Yields the backward ops of each op, by its inputs that are no constants; None where they cannot be told."""
    made: Dict[str, List[str]] = collections.defaultdict(list)
    for name in graph.nodes:
        forward = forward_name(name, graph.nodes) if name in gradients else None
        if forward is not None:
            made[forward].append(name)
    imported = imported_graph(graph).tf_graph
    for name in names:
        operation = imported.get_operation_by_name(name)
        first = int(is_custom_gradient(graph, name))  # whose first input is the value
        inputs = [place for place, one in enumerate(operation.inputs) if place >= first and one.dtype.is_floating]
        outputs = {use.output for use in graph.users(name) if use.node not in gradients}
        several = len(outputs if first else operation.outputs) > 1  # behind a function's results are its arguments
        backward = backward_of(graph, name, made[name], inputs) if inputs and not several else None
        if backward is not None:
            origins = {place: graph.origin(graph.inputs(name)[place]).node for place in backward.results}
            kept = {place: one for place, one in backward.results.items() if graph.type(origins[place]) != "Const"}
            backward = backward._replace(results=kept) if kept else None
        yield backward


def _mark(graph: Graph, result: GraphCopy, backward: Backward, operation: tf.Operation) -> None:
    """Puts an op's value, its derivatives and its inputs in the place of the op.

    Args:
      graph: of the lift.
      result: the copy of the graph, in which the op changes.
      backward: its backward ops.
      operation: the op.
    """
    node, value = result.nodes[backward.op], _value(graph, backward, TensorId(backward.op, 0))
    if not is_custom_gradient(graph, backward.op):
        del result.add_copy(node, backward.op + _VALUE).attr[GRADIENT_NAME]
    given = result.add(backward.op + _GIVEN, "Identity", [value], node.device)
    given.attr["T"].type = operation.outputs[0].dtype.as_datatype_enum
    given.attr[GIVEN_GRADIENT].b = True
    _copy(graph, result, backward)
    places = sorted(backward.results)
    results = [backward.results[place] or backward.given for place in places]
    made = [given.name if one is None else _moved(graph, backward, one) for one in results]
    inputs = [graph.inputs(backward.op)[place] for place in places]
    types = [operation.inputs[place].dtype.as_datatype_enum for place in places]
    node.Clear()
    node.name, node.op, node.device = backward.op, "IdentityN", given.device
    node.input.extend([value, *made, *(tensor_name(*one) for one in inputs)])
    node.attr["T"].list.type.extend([given.attr["T"].type, *types, *types])
    node.attr[OVERRIDDEN].i = len(made)


def _copy(graph: Graph, result: GraphCopy, backward: Backward) -> None:
    """Adds copies of the backward ops of an op, without the ops that they wait for."""
    for name in backward.members:
        copy = result.add_copy(graph.nodes[name], _copy_name(backward, name))
        copy.attr.pop("_class", None)
        copy.input[:] = [_moved(graph, backward, tensor) for tensor in graph.inputs(name)]


def _copy_name(backward: Backward, name: str) -> str:
    return f"{backward.op}{_COPIES}{backward.members.index(name)}"


def _moved(graph: Graph, backward: Backward, tensor: TensorId) -> str:
    """Returns the text by which a copy of a backward op takes a tensor."""
    if tensor == backward.given:
        return backward.op + _GIVEN
    if tensor.node == backward.op:
        return _value(graph, backward, tensor)
    node = _copy_name(backward, tensor.node) if tensor.node in backward.members else tensor.node
    return tensor_name(node, tensor.output)


def _value(graph: Graph, backward: Backward, tensor: TensorId) -> str:
    """Returns the text by which an op takes what an op with an overridden gradient gives."""
    if is_custom_gradient(graph, backward.op):
        return tensor_name(*graph.inputs(backward.op)[tensor.output])
    return tensor_name(backward.op + _VALUE, tensor.output)


def is_backward_op(op: str, node: str) -> bool:
    """Returns whether a node is a copy of a backward op of an op."""
    return node.startswith(op + _COPIES)
