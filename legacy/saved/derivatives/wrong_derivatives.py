"""Derivatives that TensorFlow up to 1.4 computed wrongly: of LSTM cells with peepholes, and of elu, derived twice."""

from __future__ import annotations

from workloads.lifted.graph import ENTERS, Graph, TensorId


def exchanges_peepholes(graph: Graph, cell: str, derivative: str) -> bool:
    """Returns whether the derivative of an LSTM cell takes the peepholes of two gates for each other.

    `tf.contrib.rnn.LSTMBlockCell` did so in TensorFlow 1.4: its gradient named them in another order than the op.

    Args:
      graph: the graph.
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


def is_wrong_derivative_of_elu(graph: Graph, name: str) -> bool:
    """Returns whether an op is a second derivative of `tf.nn.elu` that is taken at the first one, not at elu itself."""
    return graph.type(name) == "EluGrad" and graph.type(graph.origin(graph.inputs(name)[1]).node) == "EluGrad"


def _entering(graph: Graph, tensor: TensorId) -> TensorId:
    """Returns the tensor outside of loops that a tensor is a copy of."""
    while graph.type(tensor.node) in ("Identity", *ENTERS):
        tensor = graph.inputs(tensor.node)[0]
    return tensor
