"""Hazards of hinge losses: labels of 0 and 1, where -1 and 1 are meant, and a margin without a hinge."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.folding.decided import COMPARISONS
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import linear_source
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_OF_ELEMENTS = ("Add", "AddV2", "Sub", "Mul", "Sqrt", "Maximum", "Relu", "ExpandDims", "Neg")


def hinges_of_zero(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds max(0, 1 - label * score) of labels that are 0 or 1: one-hot codes, or answers; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Maximum", "Relu"):
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        if graph.type(name) == "Maximum" and 0 not in [whole.value(node) for node in inputs]:
            continue
        margins = [node for node in inputs if graph.type(node) == "Sub"]
        minuend, product = graph.inputs(margins[0])[:2] if margins else (None, None)
        if minuend is None or product is None or not (whole.value(minuend.node) or 0) > 0:
            continue
        factors = graph.inputs(product.node) if graph.type(product.node) == "Mul" else []
        zeros = [factor for factor in factors if _is_zero_or_one(whole, factor)]
        if len(zeros) == 1 and len(factors) == 2 and gradient_flow(whole).passes(name):
            yield Hazard(
                "HINGE_OF_ZERO",
                name,
                f"{name} is a hinge loss of scores times {zeros[0].node}, labels that are 0 or 1: where the label is "
                "0, the loss is constant and its gradient is 0",
                "use labels of -1 and 1, as by 2 * label - 1; for parity keep them",
            )
            return


def reversed_hinges(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds max(0, 1 + label * score) of labels that data bring, in place of the difference; one hazard for all."""
    graph = whole.graph
    added = {n for t in minimized_targets(whole) for n, sign in linear_signs(whole, t).items() if sign > 0}
    for name in [name for name in whole.minimized_ops("Maximum", "Relu") if name in added]:
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        sums = [node for node in inputs if graph.type(node) in op_types.SUMS_OF_TWO]
        if is_gradient_op(name) or not sums or (graph.type(name) == "Maximum" and 0 not in map(whole.value, inputs)):
            continue
        terms = [graph.origin(tensor).node for tensor in graph.inputs(sums[0])]
        products = [term for term in terms if graph.type(term) == "Mul"]
        if len(products) != 1 or not any((whole.value(term) or 0) > 0 for term in terms):
            continue
        labels = [one.node for one in graph.inputs(products[0]) if op_types.is_source(graph.type(_fed(whole, one)))]
        labels = labels or _codes(whole, *graph.inputs(products[0]))
        if len(labels) == 1 and gradient_flow(whole).passes(name):
            yield Hazard(
                "HINGE_REVERSED",
                name,
                f"{name} is a hinge loss of a margin plus scores times the labels {labels[0]}: it falls where a score "
                "and its label differ in sign",
                "max(0, 1 - label * score), unless the labels have the opposite sign; for parity keep it",
            )
            return


def _codes(whole: WholeGraph, first: TensorId, second: TensorId) -> list[str]:
    """Those of two factors that are a x + b of one-hot codes x, a > 0, if the other is what a layer gives: a score."""
    graph, found = whole.graph, []
    for one, other in ((first, second), (second, first)):
        name, factor, _ = linear_source(whole, source_of_elements(graph, one).node)
        layer = source_of_elements(graph, other).node
        is_score = graph.type(layer) in ("BiasAdd", "MatMul") or _is_biased(whole, layer)
        if graph.type(name) == "OneHot" and factor > 0 and is_score and name not in made_by_weights(whole):
            found.append(one.node)
    return found


def _is_biased(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a product with weights to which a variable is added."""
    inputs = (
        [tensor.node for tensor in whole.graph.inputs(name)] if whole.graph.type(name) in op_types.SUMS_OF_TWO else []
    )
    return any(variable_read(whole.graph, node) for node in inputs) and any(
        whole.graph.type(node) == "MatMul" for node in inputs
    )


def _fed(whole: WholeGraph, tensor: TensorId) -> str:
    """The node from which data bring a tensor, or the batch that it is a part of."""
    name = source_of_elements(whole.graph, tensor).node
    while whole.graph.type(name) in ("Split", "StridedSlice"):
        part = whole.graph.inputs(name)[op_types.divided_input(whole.graph.type(name))]
        name = source_of_elements(whole.graph, part).node
    return name


def margins_without_effect(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds means of a difference of two distances plus a margin, without max(0, .); one hazard for all.

    The constant has no gradient, so that a margin alone shows that a hinge was meant.
    """
    graph = whole.graph
    for target in minimized_targets(whole):
        for name in linear_signs(whole, target):
            inputs = [graph.origin(tensor) for tensor in graph.inputs(name)]
            numbers = (
                [whole.value(tensor.node) for tensor in inputs]
                if graph.type(name) in op_types.SUMS_AND_DIFFERENCES
                else []
            )
            others = [tensor.node for tensor, number in zip(inputs, numbers) if number is None]
            if len(others) != 1 or len(numbers) != 2 or not any(numbers) or graph.type(others[0]) != "Sub":
                continue
            both = [graph.origin(tensor).node for tensor in graph.inputs(others[0])]
            if both[0] != both[1] and all(_is_distance(whole, node) for node in both):
                yield Hazard(
                    "MARGIN_WITHOUT_EFFECT",
                    name,
                    f"{name} adds a margin to {others[0]}, the difference of two distances, without max(0, .): a "
                    "constant has no gradient, and pairs that are far enough apart are still pushed further",
                    "take tf.maximum of the sum and 0, before the mean; for parity leave it out",
                )
                return


def negative_margins(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds max(0, a - b - margin) of two distances, in place of a - b + margin; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Maximum", "Relu") if not is_gradient_op(name)]:
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        others = [node for node in inputs if whole.value(node) != 0]
        if len(others) != 1 or (graph.type(name) == "Maximum" and len(inputs) == len(others)):
            continue
        difference, factor, margin = linear_source(whole, others[0])
        both = [graph.origin(tensor).node for tensor in graph.inputs(difference)]
        is_of_distances = graph.type(difference) == "Sub" and all(_is_distance(whole, node) for node in both)
        if is_of_distances and factor > 0 > margin and gradient_flow(whole).passes(name):
            yield Hazard(
                "MARGIN_NEGATIVE",
                name,
                f"{name} is a hinge of {difference}, the difference of two distances, less {-margin:.4g}: it is 0 "
                "already where the first distance is the larger one by that much",
                "max(0, distance to the same class - that to another + margin); for parity keep it",
            )
            return


def hinges_of_means(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds max(0, mean(a - b + margin)) of two results of weights: the hinge is outside of the mean; one for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Maximum", "Relu"):
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        others = [node for node in inputs if whole.value(node) != 0]
        if is_gradient_op(name) or (graph.type(name) == "Maximum" and len(inputs) == len(others)) or len(others) != 1:
            continue
        signs = linear_signs(whole, others[0])
        is_mean = any(_is_mean_of_examples(whole, node) and sign > 0 for node, sign in signs.items())
        margin = any((whole.value(node) or 0) > 0 and sign > 0 for node, sign in signs.items())
        pairs = [node for node in signs if graph.type(node) == "Sub" and _are_both_trained(whole, node)]
        if is_mean and margin and pairs and gradient_flow(whole).passes(name):
            yield Hazard(
                "HINGE_OF_A_MEAN",
                name,
                f"{name} is a hinge of a margin and a mean over examples of {pairs[0]}: pairs that are far enough "
                "apart compensate for others, and get the same gradients",
                "take the mean of tf.maximum(0, .); for parity keep it",
            )
            return


def _is_mean_of_examples(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a mean along the first dimension, too; another one may be of an example's own rows."""
    if whole.graph.type(name) != "Mean":
        return False
    axes = constant_array(whole.graph, whole.graph.inputs(name)[1].node)
    return axes is None or 0 in axes


def _are_both_trained(whole: WholeGraph, difference: str) -> bool:
    graph = whole.graph
    both = [tensor.node for tensor in graph.inputs(difference)]
    return both[0] != both[1] and all(graph.ancestors([node], controls=False) & whole.trainable for node in both)


def _is_distance(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a sum of squared or absolute differences of results of trained weights, or the root of one.

    Or it is the largest or smallest of such, as of the hardest pair of each example.
    """
    graph = whole.graph
    if graph.type(name) in ("Max", "Min"):
        return _is_of_pairs(whole, graph.inputs(name)[0].node)
    while graph.type(name) in ("Sqrt", "Identity", *op_types.SUMS_OF_TWO):
        inputs = [tensor.node for tensor in graph.inputs(name)]
        others = [node for node in inputs if whole.value(node) is None]
        if len(others) != 1:
            return False
        name = others[0]
    inner = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Sum" else ""
    square = squared(whole, inner) if inner else None
    square = graph.inputs(inner)[0] if inner and graph.type(inner) == "Abs" else square
    difference = inner if square is None else graph.origin(square).node
    is_difference = bool(inner) and graph.type(difference) in op_types.DIFFERENCES
    return is_difference and bool(graph.ancestors([name], controls=False) & whole.trainable)


def _is_of_pairs(whole: WholeGraph, name: str) -> bool:
    """Whether a node is computed, element by element, from squared norms and products of all pairs of examples."""
    graph, todo, seen = whole.graph, [name], {name}
    has_product = has_sum = False
    while todo:
        name = todo.pop()
        if graph.type(name) == "MatMul":
            first, second = (graph.origin(tensor) for tensor in graph.inputs(name)[:2])
            is_of_all = first == second and graph.nodes[name].attr["transpose_b"].b
            has_product |= is_of_all and bool(graph.ancestors([name], controls=False) & whole.trainable)
        elif graph.type(name) in (*_OF_ELEMENTS, "Select", "SelectV2"):
            has_sum |= graph.type(name) in op_types.SUMS_AND_DIFFERENCES
            values = graph.inputs(name)[1 if graph.type(name) not in _OF_ELEMENTS else 0 :]
            behind = [tensor.node for tensor in values if tensor.node not in seen]
            todo += behind
            seen.update(behind)
    return has_product and has_sum


def _is_zero_or_one(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether a tensor holds one-hot codes of 0 and 1, or answers of data as numbers."""
    source = source_of_elements(whole.graph, tensor).node
    if whole.graph.type(source) == "OneHot":
        return [whole.value(given.node) for given in whole.graph.inputs(source)[2:4]] == [1, 0]
    is_answer = whole.graph.type(source) in COMPARISONS and source in whole.data
    return is_answer and not whole.graph.ancestors([source], controls=False) & whole.trainable
