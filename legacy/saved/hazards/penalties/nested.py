"""Hazard of regularization terms of other regularization terms: a regularizer was applied to collected losses."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import COPIES, constant_factor
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted


def penalties_of_penalties(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds L2 losses of the value of another L2 loss of weights, in what is minimized; one hazard for all.

    `tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)` has losses, and a regularizer that is applied to its entries
    takes the half square of each, which is a number.
    """
    graph = whole.graph
    found = []
    for name in [name for name in whole.minimized_ops("L2Loss") if not is_gradient_op(name)]:
        inner = _scaled(whole, graph.inputs(name)[0].node)
        weights = graph.ancestors([inner], controls=False) & whole.trainable
        if graph.type(inner) == "L2Loss" and weights and inner not in whole.data:
            found.append((name, inner, weights))
    if found:
        name, inner, _ = found[0]
        variables: set[str] = set().union(*(weights for _, _, weights in found))
        yield Hazard(
            "PENALTY_OF_PENALTY",
            name,
            f"{name} is the L2 loss of {inner}, a number that is itself an L2 loss of weights; "
            f"{counted(len(variables), 'variable has', 'variables have')} such a term: its gradient is multiplied by "
            "the rate once more, and by the term's own value",
            "apply the regularizer to the variables, or add up the collected losses as they are; for parity keep it",
        )


def _scaled(whole: WholeGraph, name: str) -> str:
    """Returns the node that a node is a constant multiple of; itself if there is none."""
    while True:
        factor = constant_factor(whole, name)
        if factor is not None:
            name = factor[0]
        elif whole.graph.type(name) in COPIES and whole.graph.inputs(name):
            name = whole.graph.inputs(name)[0].node
        else:
            return name
