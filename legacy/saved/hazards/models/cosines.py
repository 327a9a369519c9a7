"""Hazards of cosines: logits without a scale, class weights normalized along the classes, cosines minimized."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.models.classes.margins import without_margin
from legacy.saved.hazards.models.classes.unit_vectors import normalized_along

_COPIES = ("Identity", "Reshape", "Cast", "CheckNumerics")


def cosines_for_logits(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds softmax cross entropies of cosines as they are, of features and trained class weights; one for all."""
    graph = whole.graph
    for entropy in cross_entropies(whole):
        name = without_margin(whole, entropy.logits.node)
        is_product = graph.type(name) == "MatMul" and _is_of_classes(whole, name)
        if not entropy.is_sigmoid and (is_product or graph.type(name) == "Cos") and gradient_flow(whole).passes(name):
            yield Hazard(
                "COSINES_FOR_LOGITS",
                entropy.op,
                f"the logits of {entropy.op} are the cosines {name} ({graph.type(name)}), between -1 and 1: no class "
                "can get a probability near 1, and the loss stays large",
                "multiply the cosines by a scale, such as 30 or 64; for parity keep it",
            )
            return


def _is_of_classes(whole: WholeGraph, product: str) -> bool:
    """Whether a product is of normalized features and a normalized variable, each along what is added up."""
    features, weights = (normalized_along(whole, tensor) for tensor in whole.graph.inputs(product)[:2])
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
        features, weights = (normalized_along(whole, tensor) for tensor in graph.inputs(name)[:2])
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


def minimized_cosines(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses that are cosines of the network's vectors to given ones, with a positive weight; one for all."""
    graph = whole.graph
    for target in minimized_targets(whole):
        signs = linear_signs(whole, target)
        leaves = [n for n in signs if n in whole.data and not any(t.node in signs for t in graph.inputs(n))]
        is_rising = bool(leaves) and all(signs[name] > 0 and _is_of_given_vectors(whole, name) for name in leaves)
        if is_rising and gradient_flow(whole).passes(leaves[0]):
            yield Hazard(
                "COSINE_MINIMIZED",
                leaves[0],
                f"{target} contains the cosine {leaves[0]} of the network's output and given vectors with a positive "
                "sign: it falls where they point in opposite directions",
                "minimize 1 - cosine; for parity keep the sign",
            )
            return


def _is_of_given_vectors(whole: WholeGraph, product: str) -> bool:
    """Whether a node multiplies normalized results of the network by normalized vectors of data."""
    graph = whole.graph
    inputs = graph.inputs(product) if graph.type(product) == "Mul" else []
    trained = [bool(graph.ancestors([tensor.node], controls=False) & whole.trainable) for tensor in inputs]
    is_of_both = sorted(trained) == [False, True] and all(tensor.node in whole.data for tensor in inputs)
    return is_of_both and all(normalized_along(whole, tensor) is not None for tensor in inputs)


def compared_with_themselves(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds softmax cross entropies of all similarities in a batch, those of examples to themselves included; one.

    They may be joined to the similarities to another view of each example.
    """
    graph = whole.graph
    for entropy in [one for one in cross_entropies(whole) if not one.is_sigmoid]:
        logits = _unscaled(whole, entropy.logits.node)
        parts = [tensor.node for tensor in graph.inputs(logits)] if graph.type(logits) in op_types.JOINS else [logits]
        for name in [_unscaled(whole, part) for part in parts]:
            if graph.type(name) != "MatMul" or not graph.nodes[name].attr["transpose_b"].b:
                continue
            first, second = (graph.origin(tensor) for tensor in graph.inputs(name)[:2])
            if first == second and first.node in whole.data and gradient_flow(whole).passes(name):
                yield Hazard(
                    "COMPARED_WITH_THEMSELVES",
                    entropy.op,
                    f"the logits of {entropy.op} contain all products of {first.node} with itself: each example's "
                    "similarity to itself, the largest one, is among the negatives",
                    "subtract a large number on the diagonal; for parity keep it",
                )
                return


def _unscaled(whole: WholeGraph, name: str) -> str:
    """The node of which a node is a copy, or a multiple by a constant."""
    scaled = constant_factor(whole, name)
    while whole.graph.type(name) in _COPIES or scaled is not None:
        name = whole.graph.inputs(name)[0].node if scaled is None else scaled[0]
        scaled = constant_factor(whole, name)
    return name
