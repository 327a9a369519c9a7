"""Hazard of the square of a mean error, in place of the mean of squared errors."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op


def squares_of_mean_errors(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds mean(x - y)^2 of results x and data y whose difference is used nowhere else; one hazard for all.

    Errors of both signs cancel out in the mean. A loss that has the errors in another term, too, may want it on
    purpose, as one that is invariant to a scale; so may one whose x has a moment of a batch.
    """
    graph = whole.graph
    for target in minimized_targets(whole):
        for name, sign in linear_signs(whole, target).items():
            base = squared(whole, name) if sign > 0 and not is_gradient_op(name) else None
            mean = graph.origin(base).node if base is not None else ""
            if not mean or graph.type(mean) != "Mean" or not gradient_flow(whole).passes(name):
                continue
            error = graph.origin(graph.inputs(mean)[0]).node
            users = {use.node for use in graph.users(error) if not is_gradient_op(use.node)} & whole.minimized
            users = {user for user in users if graph.type(user) not in op_types.SHAPE_OPS}
            if users == {mean} and _is_error(whole, error):
                yield Hazard(
                    "SQUARE_OF_A_MEAN",
                    name,
                    f"{name} is the square of {mean}, a mean of the errors {error}, in which those of both signs "
                    "cancel out: examples that are far off may have a loss of 0",
                    "the mean of the squares; for parity keep it",
                )
                return


def _is_error(whole: WholeGraph, name: str) -> bool:
    """Whether a node is the difference of what weights compute of data, and of data alone."""
    graph = whole.graph
    sides = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) == "Sub" else []
    made = [side in made_by_weights(whole) and side in whole.data for side in sides]
    given = [side in whole.data and side not in made_by_weights(whole) for side in sides]
    return sorted(made) == [False, True] and sorted(given) == [False, True]
