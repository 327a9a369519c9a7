"""Numbers that a graph takes from a static shape: `tf.cast(tf.shape(x)[0], tf.float32)` where the shape is constant."""

from __future__ import annotations

import numpy as np

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId


def static_number(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> np.ndarray | None:
    """Returns the value of a constant, or of the first entry of a constant vector: the examples of a static shape.

    TensorFlow computes no `StridedSlice` when it looks for static values. Another entry is no number of examples, even
    one that equals it.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: what to look at.

    Returns:
      The value; None of anything else.
    """
    value = imported.constant(*tensor)
    kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
    if value is not None or not inputs:
        return value
    if kind in op_types.COPIES:
        return static_number(graph, imported, inputs[0])
    if kind != "StridedSlice" or imported.shape(*tensor) != ():
        return None
    vector, begin = (imported.constant(*one) for one in inputs[:2])
    if vector is None or begin is None or np.ndim(vector) != 1 or begin.tolist() != [0]:
        return None
    return np.asarray(vector[0])
