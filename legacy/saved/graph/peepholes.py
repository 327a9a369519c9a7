"""Peepholes of LSTM cells: their weights in the cell and in its gradient."""

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


def _entering(graph: Graph, tensor: TensorId) -> TensorId:
    """Returns the tensor outside of loops that a tensor is a copy of."""
    while graph.type(tensor.node) in ("Identity", *ENTERS):
        tensor = graph.inputs(tensor.node)[0]
    return tensor
