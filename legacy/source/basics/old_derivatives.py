"""Ops that the old gradients differentiate by another formula than today's, of which the results have other bits."""

from __future__ import annotations

from workloads.lifted.graph import ENTERS, Graph, TensorId
from workloads.lifted.tensors.gradient_names import forward_name, in_gradient_graphs

#: Attribute of an op whose derivative is the old one.
OLD_DERIVATIVE = "_old_derivative"
#: {op type: type of the op of its old derivative, which today's derivative has none of}.
_OF_DERIVATIVES = {"Softplus": "SoftplusGrad"}  # today gradient * sigmoid(x); the other way until TensorFlow 1.4


def with_old_derivatives(graph: Graph) -> Graph:
    """Returns a lift's graph whose ops with an old derivative have the attribute `OLD_DERIVATIVE`.

    What is written is differentiated again, and such an op is written as a function with a derivative of its own.

    Args:
      graph: of the lift.

    Returns:
      The graph; the same one if there are no such ops.
    """
    marked = sorted(_with_old_derivative(graph))
    if not marked:
        return graph
    graph_def = type(graph.graph_def)()
    graph_def.CopyFrom(graph.graph_def)
    for node in graph_def.node:
        if node.name in marked:
            node.attr[OLD_DERIVATIVE].b = True
    return Graph(graph_def)


def _with_old_derivative(graph: Graph) -> set[str]:
    """Returns the names of the ops whose derivative is the op of `_OF_DERIVATIVES`, or has exchanged peepholes."""
    forward = {name: forward_name(name, graph.nodes) for name in in_gradient_graphs(graph.nodes)}
    found = set()
    for name, op in forward.items():
        if op is not None and op in graph.nodes:
            of_type = _OF_DERIVATIVES.get(graph.type(op)) == graph.type(name)
            if of_type or exchanges_peepholes(graph, op, name):
                found.add(op)
    return found


def exchanges_peepholes(graph: Graph, cell: str, derivative: str) -> bool:
    """Returns whether the derivative of an LSTM cell takes the peepholes of two gates for each other.

    `tf.contrib.rnn.LSTMBlockCell` did so in TensorFlow 1.4: its gradient named them in another order than the op.

    Args:
      graph: of the lift.
      cell: an op.
      derivative: an op of its gradient.

    Returns:
      Whether it does.
    """
    if (graph.type(cell), graph.type(derivative)) != ("LSTMBlockCell", "LSTMBlockCellGrad"):
        return False
    if not graph.nodes[cell].attr["use_peephole"].b:
        return False
    own, taken = ([_entering(graph, tensor) for tensor in graph.inputs(name)[5:7]] for name in (cell, derivative))
    return own == taken[::-1] != taken


def _entering(graph: Graph, tensor: TensorId) -> TensorId:
    """Returns the tensor outside of loops that a tensor is a copy of."""
    while graph.type(tensor.node) in ("Identity", *ENTERS):
        tensor = graph.inputs(tensor.node)[0]
    return tensor
