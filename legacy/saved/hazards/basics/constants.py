"""Constants of a graph as arrays of numbers."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph

_PASSES = ("Identity", "Cast", "Reshape", "ExpandDims")


def constant_array(graph: Graph, name: str) -> np.ndarray | None:
    """Returns the numbers of a constant, also behind a reshape.

    Args:
      graph: a graph.
      name: of a node.

    Returns:
      An array, in the shape of the constant; None for any other node.
    """
    while graph.type(name) in _PASSES and graph.inputs(name):
        name = graph.inputs(name)[0].node
    node = graph.nodes[name]
    if node.op != "Const":
        return None
    value = tf.make_ndarray(node.attr["value"].tensor)
    return value if value.dtype.kind in "iuf" else None
