"""Losses that an old program divides by the number of towers, or by the size of the whole batch, beside a port's."""

from __future__ import annotations

import tensorflow as tf

from legacy.source.basics.divided_losses import size_below_sum
from workloads.lifted.graph import Graph
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.made_up_data import part_of_whole
from workloads.lifted.plan import Phase, Plan
from workloads.lifted.reduction_factors import is_averaged_twice, sums_parts_of_mean
from workloads.workload import Workload

v1 = tf.compat.v1


def number_below_losses(plan: Plan, graph: Graph, phase: Phase, examples: int) -> float | None:
    """Returns the divisor of the sum of all towers' losses, for a batch of so many examples.

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


def averaging_factors(
    phase: Phase, port: Workload, towers: int, divisor: int, size: float | None = None
) -> tuple[float, float]:
    """Returns the factors that turn the old graph's gradients and losses into the port's.

    An old program may divide each tower's loss by the number of towers, or of all their examples, and add the
    gradients. A port that takes the mean of undivided gradients has the same update. Where the old program averages
    the divided losses' gradients besides, the port divides its loss as well.

    Args:
      phase: of the lift.
      port: the workload.
      towers: number of towers.
      divisor: divisor of the losses of a port that adds gradients: the number of its replicas, or of the towers.
      size: see `number_below_losses`.

    Returns:
      (factor of the gradients, factor of the losses); 1.0 where nothing is divided, or the port divides alike.
    """
    if size is not None:
        return (float(towers), towers / size) if port.combine == "mean" else (1.0, 1.0 / size)
    if not sums_parts_of_mean(phase, towers) or is_averaged_twice(phase, towers):
        return 1.0, 1.0
    if port.combine == "mean":
        return float(towers), 1.0 if phase.shared_loss else float(towers)
    return towers / divisor, 1.0 / divisor if phase.shared_loss else towers / divisor
