"""Losses whose gradient is computed from checkpoints, in the form that is differentiated as one."""

from __future__ import annotations

from legacy.saved.derivatives.recomputed import checkpoints
from workloads.lifted.graph import Graph
from workloads.lifted.graph.edits import GraphCopy


def with_plain_gradients(graph: Graph) -> Graph:
    """Returns a lift's graph whose gradient checkpoints stop no gradient.

    The old gradient goes through them all the same, by copies of the ops in front of each; the copies behind the last
    one, of which the loss is, then follow from the model itself.

    Args:
      graph: of the lift.

    Returns:
      The graph; the same one if it has no checkpoints.
    """
    cuts = checkpoints(graph)
    if not cuts:
        return graph
    result = GraphCopy(graph)
    for name in cuts:
        result.nodes[name].op = "Identity"
    return result.graph()
