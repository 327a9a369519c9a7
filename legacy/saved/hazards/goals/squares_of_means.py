"""Hazard of the square of a mean error, or of a sum of errors, in place of the mean of squared errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
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
    for square, mean, error in _squares_of(whole, "Mean"):
        yield _hazard(square, f"{mean}, a mean of the errors {error}")
        return


def squares_of_sums_of_errors(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds sum(x - y)^2 likewise, of a sum over the examples; one hazard for all.

    A sum over what belongs to one example is its total, as of a map of counts.
    """
    imported, batch = found.context.imported, found.plan.batch
    for square, total, error in _squares_of(whole, "Sum"):
        shape = imported.shape(error) if error in found.cut.graph.nodes else None
        axes = imported.constant(*found.cut.graph.inputs(total)[1]) if shape else None
        if shape is None or axes is None or batch in (None, 1) or shape[0] not in (None, batch):
            continue
        if {0, -len(shape)} & {int(axis) for axis in np.ravel(axes)}:
            yield _hazard(square, f"{total}, a sum over the examples of the errors {error}")
            return


def _hazard(square: str, base: str) -> Hazard:
    text = f"{square} is the square of {base}, in which those of both signs cancel out: examples that are far off may "
    return Hazard("SQUARE_OF_A_MEAN", square, f"{text}have a loss of 0", "the mean of the squares; for parity keep it")


def _squares_of(whole: WholeGraph, kind: str) -> Iterator[tuple[str, str, str]]:
    """(square, reduction of type `kind`, errors) of losses that take errors only by the square of their reduction."""
    graph = whole.graph
    for target in minimized_targets(whole):
        for name, sign in linear_signs(whole, target).items():
            base = squared(whole, name) if sign > 0 and not is_gradient_op(name) else None
            reduced = graph.origin(base).node if base is not None else ""
            if not reduced or graph.type(reduced) != kind or not gradient_flow(whole).passes(name):
                continue
            error = graph.origin(graph.inputs(reduced)[0]).node
            users = {use.node for use in graph.users(error) if not is_gradient_op(use.node)} & whole.minimized
            users = {user for user in users if graph.type(user) not in op_types.SHAPE_OPS}
            if users == {reduced} and _is_error(whole, error):
                yield name, reduced, error


def _is_error(whole: WholeGraph, name: str) -> bool:
    """Whether a node is the difference of what weights compute of data, and of data alone."""
    graph = whole.graph
    sides = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) == "Sub" else []
    made = [side in made_by_weights(whole) and side in whole.data for side in sides]
    given = [side in whole.data and side not in made_by_weights(whole) for side in sides]
    return sorted(made) == [False, True] and sorted(given) == [False, True]
