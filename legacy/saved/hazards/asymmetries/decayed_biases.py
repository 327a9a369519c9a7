"""Hazard of a weight decay that contains the biases of few layers, and not those of the others."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.updates.weight_decay import weight_decays
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, counted, listed

_LAYERS = ("MatMul", "Conv2D", "Conv3D")


def biases_decayed_alone(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds biases that decay where most layers' weights do, and their biases do not; one hazard for all."""
    penalties = weight_decays(whole)
    decayed = {name for penalty in penalties for name in penalty.variables}
    biases = [bias for weight, bias in _layers(whole).items() if weight in decayed]
    alone = [bias for bias in biases if bias in decayed]
    if alone and 2 * len(alone) < len(biases):
        penalty = next(penalty for penalty in penalties if alone[0] in penalty.variables)
        yield Hazard(
            "BIAS_DECAYED",
            penalty.op,
            f"the weight decay contains {counted(len(alone), 'bias', 'biases')} ({listed(alone, FEW)}) of "
            f"{len(biases)} layers whose weights it contains, and no other's: decay leaves biases out, or contains all",
            "leave it out of the penalty; for parity keep it",
        )


def _layers(whole: WholeGraph) -> dict[str, str]:
    """{weight that multiplies the inputs of a layer: the bias that is added to the product}."""
    graph, found = whole.graph, {}
    for name in whole.minimized_ops("BiasAdd", "Add", "AddV2"):
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        biases = [variable_read(graph, node) for node in inputs]
        products = [node for node in inputs if graph.type(node) in _LAYERS]
        if is_gradient_op(name) or not any(biases) or len(products) != 1:
            continue
        weight = variable_read(graph, graph.inputs(products[0])[1].node)
        if weight:
            found[weight] = next(filter(None, biases))
    return found
