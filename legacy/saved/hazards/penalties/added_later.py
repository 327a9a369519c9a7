"""Penalties of no tower: their gradients are added to what the gradients of all towers are combined to."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op


def is_added_later(whole: WholeGraph, target: str) -> bool:
    """Whether the gradient of a penalty is added to combined gradients, wherever the penalty is computed.

    Args:
      whole: the graph.
      target: what `tf.gradients` started from.

    Returns:
      Whether no data lead to it, and an op before an update adds a gradient of it to what depends on all towers.
    """
    if target in whole.data or whole.count < 2:
        return False
    graph = whole.graph
    made_from = graph.ancestors([target], controls=False)
    own = {name for name in graph.nodes if is_gradient_op(name) and forward_name(name, graph.nodes) in made_from}
    own &= graph.ancestors(whole.applies, controls=False) - whole.data
    sums = {user.node for name in own for user in graph.users(name) if graph.type(user.node) in op_types.ADDITIONS}
    return any(whole.data_towers(name) == set(whole.towers()) for name in sums - own)
