"""Hazards of quotients by what can be 0: a number of objects, and a deviation."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_QUOTIENTS = ("RealDiv", "Div")
_CHOICES = ("Equal", "Greater", "GreaterEqual")
_COPIES = ("Cast", "Identity", "Reshape", "ExpandDims", "Squeeze", "LogicalAnd")


def counts_that_may_be_zero(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses of images divided by the number of labels that a comparison chooses; one hazard for all.

    A number of words, or of pixels that are not ignored, is hardly 0; that of objects is, for a batch of background.
    """
    graph = whole.graph
    for name in whole.minimized_ops(*_QUOTIENTS):
        total, count = (graph.origin(tensor).node for tensor in graph.inputs(name)[:2])
        if is_gradient_op(name) or graph.type(count) != "Sum":
            continue
        chosen = graph.inputs(count)[0].node
        while graph.type(chosen) in _COPIES:
            chosen = graph.inputs(chosen)[0].node
        before = graph.ancestors([total], controls=False)
        is_of_images = any(graph.type(node) == "Conv2D" and not is_gradient_op(node) for node in before)
        given = graph.ancestors([chosen], controls=False)
        if graph.type(chosen) in _CHOICES and is_of_images and chosen in whole.data and not given & whole.trainable:
            yield Hazard(
                "COUNT_MAY_BE_ZERO",
                name,
                f"{name} divides by {count}, the number of labels that {chosen} ({graph.type(chosen)}) chooses, which "
                "nothing keeps from 0: a batch without any makes the loss NaN, and with it all weights",
                "tf.maximum(count, 1); for parity keep it",
            )
            return


def deviations_that_may_be_zero(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds (x - mean) / root of x's variance, to which nothing is added; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops(*_QUOTIENTS):
        root = _past_copies(whole, graph.inputs(name)[1])
        varying = _varying(whole, graph.inputs(root.node)[0]) if graph.type(root.node) == "Sqrt" else None
        if varying is None or is_gradient_op(name) or varying.node not in whole.data:
            continue
        if varying in _centered(whole, graph.inputs(name)[0]):
            yield Hazard(
                "DEVIATION_MAY_BE_ZERO",
                name,
                f"{name} divides {varying.node} less its mean by its deviation {root.node}, to which nothing is added: "
                "where all values are equal, it is 0 / 0, which is NaN",
                "add a small number to the variance or to the deviation; for parity keep it",
            )
            return


def _varying(whole: WholeGraph, tensor: TensorId) -> TensorId | None:
    """The x of a mean of (x - m)^2, as of `tf.nn.moments`; None of any other tensor."""
    graph, mean = whole.graph, _past_copies(whole, tensor).node
    squares = _past_copies(whole, graph.inputs(mean)[0]).node if graph.type(mean) == "Mean" else ""
    if not squares:
        return None
    base = squared(whole, squares)
    difference = squares if graph.type(squares) == "SquaredDifference" else base.node if base is not None else ""
    is_difference = bool(difference) and graph.type(difference) in ("Sub", "SquaredDifference")
    return _past_copies(whole, graph.inputs(difference)[0]) if is_difference else None


def _centered(whole: WholeGraph, tensor: TensorId) -> list[TensorId]:
    """The x of x - m that a tensor is, perhaps times a scale."""
    graph, tensor = whole.graph, _past_copies(whole, tensor)
    if graph.type(tensor.node) == "Mul":
        return [found for factor in graph.inputs(tensor.node) for found in _centered(whole, factor)]
    return [_past_copies(whole, graph.inputs(tensor.node)[0])] if graph.type(tensor.node) == "Sub" else []


def _past_copies(whole: WholeGraph, tensor: TensorId) -> TensorId:
    while whole.graph.type(tensor.node) in ("Identity", "Reshape", "Squeeze", "ExpandDims", "StopGradient"):
        tensor = whole.graph.inputs(tensor.node)[0]
    return tensor
