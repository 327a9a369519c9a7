"""Hazard of a softmax over a single element, which is 1 whatever the network computes."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard

_SHARES = ("Softmax", "LogSoftmax")
_ENTROPIES = ("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits")


def softmax_of_one(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds softmax ops and cross entropies whose last axis has one element; one hazard for all of them.

    Attention scores of the shape [batch, times, 1] need a softmax over the times, and a single logit needs a sigmoid.
    """
    for name in whole.minimized_ops(*_SHARES, *_ENTROPIES):
        if name in found.cut.graph.nodes and _last_size(found, name) == 1 and gradient_flow(whole).passes(name):
            kind = whole.graph.type(name)
            result = "its share is 1" if kind in _SHARES else "the loss is 0"
            yield Hazard(
                "SOFTMAX_OF_ONE",
                name,
                f"{name} ({kind}) is a softmax over an axis of one element: {result}, whatever "
                f"{whole.graph.inputs(name)[0].node} is, and no gradient passes it",
                "take the softmax over the classes, or use a sigmoid for a single logit; for parity keep it",
            )
            return


def _last_size(found: Analysis, name: str) -> int | None:
    """The size of the last axis of a node's first input, also of one that 1.x flattens to rows before."""
    graph, imported = found.cut.graph, found.context.imported
    tensor = graph.inputs(name)[0]
    shape = imported.shape(*tensor)
    if shape and shape[-1] is None and len(shape) == 2 and graph.type(tensor.node) == "Reshape":
        shape = imported.shape(*graph.inputs(tensor.node)[0])
    return shape[-1] if shape else None
