"""Hazards of normalizations by hand: a variance that is a sum, and a deviation to which nothing is added."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_COPIES = ("Identity", "Squeeze", "Reshape")


def variances_that_are_sums(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds mean(x^2) + mean(x)^2, in place of the difference; one hazard for all."""
    for name in whole.minimized_ops(*op_types.ADDITIONS):
        if not is_gradient_op(name) and joined_moments(whole, name):
            yield Hazard(
                "VARIANCE_IS_SUM",
                name,
                f"{name} adds the mean of squares and the square of the mean of {joined_moments(whole, name)}: "
                "the variance is their difference",
                "tf.nn.moments; for parity keep the sum",
            )
            return


def deviations_without_epsilon(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds roots of variances of what weights compute, to which no number is added; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Rsqrt", "Sqrt") if not is_gradient_op(name)]:
        variance = _past(whole, graph.inputs(name)[0].node)
        is_difference = graph.type(variance) == "Sub" and bool(joined_moments(whole, variance))
        if variance in made_by_weights(whole) and is_difference and _divides(whole, name):
            yield Hazard(
                "ROOT_OF_ZERO",
                name,
                f"{name} is taken of {variance}, a variance by mean(x^2) - mean(x)^2, which is 0 where a layer gives "
                "one value, as with dead units, and below 0 by rounding: the results are infinite or NaN",
                "add a small number to the variance; for parity keep it",
            )
            return


def joined_moments(whole: WholeGraph, name: str) -> str:
    """Returns the x of a node that joins mean(x^2) and mean(x)^2, the first one of all towers' x; "" of any other."""
    graph = whole.graph
    inputs = [_past(whole, tensor.node) for tensor in graph.inputs(name)]
    for mean, square in (inputs, inputs[::-1]) if len(inputs) == 2 else ():
        of_mean, of_squares = squared(whole, square), averaged(whole, mean)
        inner = averaged(whole, _past(whole, of_mean.node)) if of_mean is not None else []
        of_each = [squared(whole, tensor.node) for tensor in of_squares]
        if inner and [None if one is None else graph.origin(one) for one in of_each] == inner:
            return inner[0].node
    return ""


def averaged(whole: WholeGraph, name: str) -> list[TensorId]:
    """Returns the x of a mean of x, also of a sum times the reciprocal of a count, as `tf.nn.moments` of 0.12 has it.

    Those of a mean over towers, as of a normalization by the moments of all.
    """
    graph = whole.graph
    if graph.type(name) == "Mean":
        return [graph.origin(graph.inputs(name)[0])]
    scaled = constant_factor(whole, name)
    if scaled is not None and graph.type(scaled[0]) in ("AddN", *op_types.ADDITIONS):
        means = [_past(whole, tensor.node) for tensor in graph.inputs(scaled[0])]
        are_means = all(graph.type(mean) == "Mean" for mean in means)
        return [graph.origin(graph.inputs(mean)[0]) for mean in means] if are_means else []
    kinds = {graph.type(tensor.node): tensor.node for tensor in graph.inputs(name)}
    is_product = graph.type(name) == "Mul" and set(kinds) == {"Sum", "Reciprocal"}
    return [graph.origin(graph.inputs(kinds["Sum"])[0])] if is_product else []


def _divides(whole: WholeGraph, name: str) -> bool:
    """Whether a root is a divisor, or the factor of a normalization."""
    kinds = [whole.graph.type(use.node) for use in whole.graph.users(name) if not is_gradient_op(use.node)]
    return any(kind in ("Mul", "RealDiv", "Div") for kind in kinds)


def _past(whole: WholeGraph, name: str) -> str:
    while whole.graph.type(name) in _COPIES:
        name = whole.graph.inputs(name)[0].node
    return name
