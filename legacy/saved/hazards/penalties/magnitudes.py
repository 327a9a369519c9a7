"""Hazard of a penalty that adds up weights themselves, in place of their absolute values or squares."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op


def sums_of_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sums or means of a trained matrix's numbers, with their signs, as a term of a loss; one hazard for all.

    A vector, such as the logarithms of deviations, may be a term of a likelihood.
    """
    for target in minimized_targets(whole):
        for name, sign in linear_signs(whole, target).items():
            variable = _added_up(whole, name)
            if variable and sign and not is_gradient_op(name):
                yield Hazard(
                    "PENALTY_WITHOUT_MAGNITUDE",
                    name,
                    f"{name} adds up the weights {variable} with their signs, as a term of a loss that falls without a "
                    f"bound where they become {'negative' if sign > 0 else 'large'}: no penalty of their size",
                    "tf.abs or tf.square of the weights; for parity keep it",
                )
                return


def _added_up(whole: WholeGraph, name: str) -> str:
    """The trained matrix whose numbers a node adds up; "" of any other node."""
    graph = whole.graph
    if graph.type(name) not in ("Sum", "Mean"):
        return ""
    variable = variable_read(graph, graph.inputs(name)[0].node)
    if variable not in whole.trainable:
        return ""
    sizes = [size.size for size in graph.nodes[variable].attr["shape"].shape.dim]
    return variable if len([size for size in sizes if size > 1]) > 1 else ""
