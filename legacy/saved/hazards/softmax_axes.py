"""Hazard of a softmax over the wrong axis: the probabilities of a class add up to one over the examples."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.hazard import Hazard

#: Softmax ops, which add up over the last axis.
_SOFTMAXES = ("Softmax", "LogSoftmax")
#: Ops on the way from a product of rows and weights to its elements.
_PASSES = ("Identity", "BiasAdd", "Add", "AddV2", "Cast")


def softmax_over_examples(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a softmax of the step whose input is a layer's output, transposed; one for all towers."""
    for name in whole.graph.nodes:
        if name in whole.reach and whole.graph.type(name) in _SOFTMAXES:
            layer = _transposed_layer(whole, name)
            if layer is not None:
                yield Hazard(
                    "SOFTMAX_OVER_EXAMPLES",
                    name,
                    f"{name} adds up to one over the rows of {layer}, the examples, and not over its columns",
                    "keep it for parity; in new code, softmax over the last axis",
                )
                return


def _transposed_layer(whole: WholeGraph, softmax: str) -> str | None:
    """The product of rows and weights that a softmax takes transposed; None if it takes anything else."""
    graph = whole.graph
    above = graph.inputs(softmax)[0].node
    while graph.type(above) in ("Identity", "Reshape"):  # 1.x flattens all axes but the last
        above = graph.inputs(above)[0].node
    if graph.type(above) != "Transpose":
        return None
    name = graph.inputs(above)[0].node
    while graph.type(name) in _PASSES and graph.inputs(name):
        before = [tensor.node for tensor in graph.inputs(name)]
        name = next((node for node in before if node in whole.data), before[0])
    if graph.type(name) != "MatMul":
        return None
    weights = graph.inputs(name)[1].node
    while graph.type(weights) in ("Identity", "ReadVariableOp", "Enter", "Cast") and graph.inputs(weights):
        weights = graph.inputs(weights)[0].node
    return name if graph.type(weights) in op_types.VARIABLES else None
