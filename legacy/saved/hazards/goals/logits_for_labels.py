"""Hazard of a cross entropy whose labels are a network's logits, and not their softmax."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_source
from legacy.saved.hazards.basics.variable_reads import variable_read

_PRODUCTS = ("MatMul", "Conv2D")


def labels_that_are_logits(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds softmax cross entropies with a layer's output, as of a teacher, for labels; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("SoftmaxCrossEntropyWithLogits"):
        source = linear_source(whole, graph.inputs(name)[1].node)[0]
        if source in whole.data and _is_layer(whole, source):
            yield Hazard(
                "LOGITS_FOR_LABELS",
                name,
                f"the labels of {name} are {source}, a layer's output without an activation: they may be negative, "
                "and do not add up to 1",
                "give it the softmax of the teacher's logits; for parity keep them",
            )
            return


def _is_layer(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a product with a variable, perhaps with another one added."""
    graph, inputs = whole.graph, [tensor.node for tensor in whole.graph.inputs(name)]
    if graph.type(name) in (*op_types.ADDITIONS, "BiasAdd") and len(inputs) == 2:
        biased = [node for node, other in (inputs, inputs[::-1]) if variable_read(graph, other)]
        return any(graph.type(node) in _PRODUCTS and _is_layer(whole, node) for node in biased)
    return graph.type(name) in _PRODUCTS and any(variable_read(graph, node) for node in inputs[1:])
