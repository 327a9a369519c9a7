"""Hazards of classes by cosines: logits that are not scaled, class weights that are normalized along the classes."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import TensorId

_COPIES = ("Identity", "Reshape", "Cast", "CheckNumerics")


def cosines_for_logits(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds softmax cross entropies of cosines as they are, of features and trained class weights; one for all."""
    graph = whole.graph
    for entropy in cross_entropies(whole):
        name = entropy.logits.node
        while graph.type(name) in _COPIES:
            name = graph.inputs(name)[0].node
        is_product = graph.type(name) == "MatMul" and _is_of_classes(whole, name)
        if not entropy.is_sigmoid and (is_product or graph.type(name) == "Cos") and gradient_flow(whole).passes(name):
            yield Hazard(
                "COSINES_FOR_LOGITS",
                entropy.op,
                f"{entropy.op} takes the cosines of {name} ({graph.type(name)}) for logits, which are between -1 "
                "and 1: no class can get nearly all of the probability, and the loss stays large",
                "multiply the cosines by a scale, such as 30 or 64; for parity keep it",
            )
            return


def _is_of_classes(whole: WholeGraph, product: str) -> bool:
    """Whether a product is of normalized features and a normalized variable, each along what is added up."""
    features, weights = (_normalized(whole, tensor) for tensor in whole.graph.inputs(product)[:2])
    attributes = whole.graph.nodes[product].attr
    if features is None or weights is None or attributes["transpose_a"].b:
        return False
    is_cosine = features[1] in (1, -1) and weights[1] % 2 == (1 if attributes["transpose_b"].b else 0)
    return is_cosine and bool(variable_read(whole.graph, weights[0].node))


def weights_normalized_along_classes(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds normalized features times a variable that is normalized along the other axis; one hazard for all.

    A product of both is a cosine only if both are normalized along the axis that the product adds up.
    """
    graph = whole.graph
    for name in whole.minimized_ops("MatMul"):
        features, weights = (_normalized(whole, tensor) for tensor in graph.inputs(name)[:2])
        attributes = graph.nodes[name].attr
        if features is None or weights is None or attributes["transpose_a"].b or features[1] not in (1, -1):
            continue
        summed = 1 if attributes["transpose_b"].b else 0
        variable = variable_read(graph, weights[0].node)
        if variable in whole.trainable and weights[1] % 2 != summed and gradient_flow(whole).passes(name):
            yield Hazard(
                "NORM_OVER_CLASSES",
                name,
                f"{name} multiplies normalized features by {variable}, which is normalized along axis {weights[1]}, "
                f"and adds up along axis {summed}: the results are no cosines, and may be larger than 1",
                f"normalize {variable} along axis {summed}; for parity keep it",
            )
            return


def _normalized(whole: WholeGraph, tensor: TensorId) -> tuple[TensorId, int] | None:
    """(x, the axis) of a tensor that is x / |x| along one axis of two, as `tf.nn.l2_normalize` writes it; else None."""
    graph = whole.graph
    tensor = graph.origin(tensor)
    if graph.type(tensor.node) != "Mul":
        return None
    inputs = [graph.origin(before) for before in graph.inputs(tensor.node)]
    for one, other in zip(inputs, reversed(inputs)):
        bounded = graph.origin(graph.inputs(other.node)[0]).node if graph.type(other.node) == "Rsqrt" else ""
        total = graph.origin(graph.inputs(bounded)[0]).node if bounded and graph.type(bounded) == "Maximum" else bounded
        squares = graph.origin(graph.inputs(total)[0]).node if total and graph.type(total) == "Sum" else ""
        if squares and graph.type(squares) == "Square" and graph.origin(graph.inputs(squares)[0]) == one:
            axes = constant_array(graph, graph.inputs(total)[1].node)
            return (one, int(axes.ravel()[0])) if axes is not None and axes.size == 1 else None
    return None
