"""Hazard of a Wasserstein critic that ends in a sigmoid, whose difference of means is then no distance."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.variable_reads import variables_behind
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op

_BOUNDED = ("Sigmoid", "Tanh")


def bounded_critics(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds mean(sigmoid(d(x))) - mean(sigmoid(d(g(z)))) of one critic d and its own loss; one hazard for all.

    A difference of bounded means is a distance, too, that of total variation: a penalty of gradients, or the clipping
    of the critic's weights, tells that a Wasserstein GAN is meant.
    """
    graph = whole.graph
    for target in minimized_targets(whole):
        signs = {name: sign for name, sign in linear_signs(whole, target).items() if graph.type(name) in _BOUNDED}
        raised = [name for name, sign in signs.items() if sign < 0 and not is_gradient_op(name)]
        for name in [name for name, sign in signs.items() if sign > 0 and name in made_by_weights(whole)]:
            own = variables_behind(graph, name) & whole.trainable
            for other in raised:
                its = variables_behind(graph, other) & whole.trainable
                critic = own & its
                if its and (its < own or own < its) and _is_wasserstein(whole, target, critic):
                    yield Hazard(
                        "CRITIC_BOUNDED",
                        other,
                        f"a loss is the difference of the means of {name} and {other}, results of one critic between "
                        f"{'0' if graph.type(other) == 'Sigmoid' else '-1'} and 1: the difference cannot "
                        "grow beyond that, and the gradient vanishes once the critic tells all examples apart",
                        "a critic without an activation of its last layer; for parity keep it",
                    )
                    return


def _is_wasserstein(whole: WholeGraph, target: str, critic: set[str]) -> bool:
    """Whether the loss has gradients, as their penalty, or some op clips the critic's weights."""
    graph = whole.graph
    clipped = {graph.origin(graph.inputs(op)[1]).node: op for op in whole.writes if graph.type(op) in op_types.SETS}
    return any(is_gradient_op(name) for name in graph.ancestors([target], controls=False)) or any(
        graph.type(value) in op_types.BOUNDS and variables_behind(graph, value) <= critic and whole.writes[op] in critic
        for value, op in clipped.items()
    )
