"""Hazard of a loss that is divided by a number of objects that can be 0."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
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
