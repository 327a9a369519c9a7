"""Finds what an old program divides the sum of its towers' losses by, where the size of the whole batch gives it."""

from __future__ import annotations

import tensorflow as tf

from legacy.source.basics.divided_losses import size_below_sum
from workloads.lifted.graph import Graph
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.made_up_data import part_of_whole
from workloads.lifted.plan import Phase, Plan

v1 = tf.compat.v1


def number_below_losses(plan: Plan, graph: Graph, phase: Phase, examples: int) -> float | None:
    """Returns what the sum of all towers' losses is divided by, of a batch of so many examples.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      examples: of all towers.

    Returns:
      The number; None where the losses are not divided so, or by what more than the examples' number gives.
    """
    size = size_below_sum(plan, graph, phase)
    if size is None:
        return None
    members = graph.ancestors([size.node], controls=False)
    graph_def = v1.GraphDef(node=[node for node in graph.graph_def.node if node.name in members])
    entries = plan.inputs + plan.common
    given = {tensor: (entry, part_of_whole(entry, entries)) for entry in entries for tensor in entry.tensors}
    with tf.Graph().as_default(), v1.Session() as session:
        fed = {}
        for tensor, (entry, part) in given.items():
            if tensor.partition(":")[0] not in members:
                continue
            rows = examples if part is not None else examples // plan.towers
            shape = [rows, *(entry.shape or [None])[1:]]
            if None in shape:
                return None
            fed[tensor] = tf.zeros(shape, tf.as_dtype(entry.dtype))
        return float(session.run(import_graph(graph_def, fed, [size.name])[0]))
