"""Hazard of a distance between a network's probabilities and its twin's logits."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.structures import structures
from legacy.saved.hazards.basics.variable_reads import variables_behind
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def activations_of_one_side(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds softmax(x) - y of results x and y of two networks that differ in their weights alone; one for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Sub", "SquaredDifference") if not is_gradient_op(name)]:
        sides = [source_of_elements(graph, tensor).node for tensor in graph.inputs(name)]
        for activated, plain in (sides, sides[::-1]):
            if graph.type(activated) not in op_types.PROBABILITIES or graph.type(plain) in op_types.PROBABILITIES:
                continue
            inner = source_of_elements(graph, TensorId(activated, 0)).node
            inner = source_of_elements(graph, graph.inputs(inner)[0]).node
            numbers = structures(whole, of_twins=True)
            are_twins = numbers.get(inner, -1) == numbers.get(plain, -2)
            if are_twins and variables_behind(graph, inner) != variables_behind(graph, plain):
                yield Hazard(
                    "ACTIVATION_OF_ONE_SIDE",
                    name,
                    f"{name} compares {activated} ({graph.type(activated)}), the activated output of one network, "
                    f"with {plain}, the output of another that has no activation; apart from their weights, both "
                    "networks are the same",
                    "apply the same activation to both outputs; for parity keep it",
                )
                return
