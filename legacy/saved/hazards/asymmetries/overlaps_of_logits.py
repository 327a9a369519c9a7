"""Hazard of an overlap, as of Dice, that takes a layer's results for probabilities."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op

_LAYERS = ("BiasAdd", "MatMul", "Conv2D", "Conv3D")


def overlaps_of_logits(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sum(x y) / (sum(x) + sum(y)) of labels y and a layer's results x, without an activation; one for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops(*op_types.QUOTIENTS) if not is_gradient_op(name)]:
        above, below = (_summed(whole, tensor.node) for tensor in graph.inputs(name)[:2])
        for product in [summed for summed in above if graph.type(summed) == "Mul"]:
            factors = [source_of_elements(graph, tensor).node for tensor in graph.inputs(product)]
            layers = [factor for factor in factors if _is_layer(whole, factor)]
            if len(layers) == 1 and set(factors) <= set(below) and len(set(factors)) == 2:
                yield Hazard(
                    "OVERLAP_OF_LOGITS",
                    name,
                    f"{name} is an overlap of labels and {layers[0]} ({graph.type(layers[0])}), results of a layer "
                    "without an activation: it is no share, may be negative, and its divisor may be 0",
                    "tf.sigmoid of the logits; for parity keep it",
                )
                return


def _is_layer(whole: WholeGraph, name: str) -> bool:
    """Whether a node holds the results of a layer as they are, with a bias perhaps."""
    graph = whole.graph
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
    if graph.type(name) not in op_types.ADDITIONS or len(inputs) != 2:
        return graph.type(name) in _LAYERS
    biases = [variable_read(graph, node) for node in inputs]
    return any(bias and graph.type(other) in _LAYERS for bias, other in zip(biases, reversed(inputs)))


def _summed(whole: WholeGraph, name: str) -> list[str]:
    """The tensors, or squares of them, whose sums a node adds up."""
    graph, found = whole.graph, []
    for total, sign in linear_signs(whole, name).items():
        if sign > 0 and graph.type(total) == "Sum":
            inner = source_of_elements(graph, graph.inputs(total)[0]).node
            found.append(inner)
            if graph.type(inner) in ("Square", "Pow"):
                found.append(source_of_elements(graph, graph.inputs(inner)[0]).node)
    return found
