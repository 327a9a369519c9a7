"""Whether a registered gradient is the usual one: the same backward ops as today's TensorFlow makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Hashable, Optional

import tensorflow as tf

from legacy.saved.derivatives.overridden_gradients import GRADIENT_NAME
from workloads.lifted.graph import Graph, TensorId, forget_placement
from workloads.lifted.graph.importing import import_graph

if TYPE_CHECKING:
    from legacy.source.overrides.backward import Backward

v1 = tf.compat.v1
#: The op's input, its result, and the gradient by this: where a form ends.
_INPUT, _VALUE, _GRADIENT = "input", "value", "gradient"


def is_usual(graph: Graph, backward: Backward) -> bool:
    """Returns whether the backward ops of an op are those of its usual gradient.

    Args:
      graph: of the lift.
      backward: the backward ops.

    Returns:
      Whether both have the same ops with the same constants; False where today's TensorFlow has no gradient of the op.
    """
    ends: Dict[Optional[TensorId], Hashable] = {
        graph.inputs(backward.op)[0]: _INPUT,
        TensorId(backward.op, 0): _VALUE,
        backward.given: _GRADIENT,
    }
    return _usual_form(graph, backward.op) == _form(graph, backward.result or backward.given, ends)


def _usual_form(graph: Graph, op: str) -> Hashable:
    """Returns the form of the gradient that today's TensorFlow makes of an op; None without one."""
    alone = v1.GraphDef(versions=graph.graph_def.versions)
    alone.node.add(name=_INPUT, op="Placeholder").attr["dtype"].type = graph.nodes[op].attr["T"].type
    node = alone.node.add()
    node.CopyFrom(graph.nodes[op])
    node.attr.pop(GRADIENT_NAME, None)
    forget_placement(node)
    del node.input[:]
    node.name, node.device = _VALUE, ""
    node.input.append(_INPUT)
    with tf.Graph().as_default() as copy:
        value, given = import_graph(alone, fetches=[_VALUE + ":0", _INPUT + ":0"], subject="graph file")
        gradient = v1.placeholder(value.dtype, value.shape, name=_GRADIENT)
        try:
            (made,) = v1.gradients([value], [given], [gradient])
        except LookupError:
            return None
        if made is None:
            return None
        ends: Dict[Optional[TensorId], Hashable] = {TensorId(name, 0): name for name in (_INPUT, _VALUE, _GRADIENT)}
        return _form(Graph(copy.as_graph_def()), TensorId(made.op.name, made.value_index), ends)


def _form(graph: Graph, tensor: Optional[TensorId], ends: Dict[Optional[TensorId], Hashable]) -> Hashable:
    """Returns what a tensor is computed by: the types of the ops with their constants, back to `ends`.

    Args:
      graph: of the tensor.
      tensor: the tensor; None stands for a gradient that is handed on as it is.
      ends: {tensor: what stands for it}.

    Returns:
      The form, which equal computations share.
    """
    if tensor in ends or tensor is None:
        return ends.get(tensor, _GRADIENT)
    node = graph.nodes[tensor.node]
    inputs = graph.inputs(tensor.node)
    if node.op == "Identity":
        return _form(graph, inputs[0], ends)
    constant = tf.make_ndarray(node.attr["value"].tensor).tobytes() if node.op == "Const" else b""
    return (node.op, tensor.output, constant, *(_form(graph, before, ends) for before in inputs))
