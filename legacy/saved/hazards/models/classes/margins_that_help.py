"""Hazard of a margin of classes with the wrong sign, which makes the true class easier and not harder."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import CrossEntropy, cross_entropies
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import constant_factor
from workloads.lifted.graph import TensorId


def margins_that_help(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies of logits to which a margin is added for the true class; one hazard for all.

    So c + m for a cosine c, where it should be c - m; and cos(a - m) = c cos m + s sin m for cos(a + m).
    """
    signs = [linear_signs(whole, target) for target in minimized_targets(whole)]
    for entropy in cross_entropies(whole):
        name = _past_scales(whole, entropy.logits.node)
        margin = _margin_of_sum(whole, entropy, name) or _margin_of_choice(whole, entropy, name)
        is_minimized = any(each.get(entropy.op) == (-1 if entropy.is_product else 1) for each in signs)
        if margin and is_minimized and not entropy.is_sigmoid and gradient_flow(whole).passes(entropy.op):
            yield Hazard(
                "MARGIN_HELPS_CLASS",
                margin,
                f"{margin} makes the logit of the true class larger before {entropy.op}, where a margin makes it "
                "smaller: the loss is low before the classes are apart",
                "subtract the margin from the cosine, or add it to the angle; for parity keep it",
            )
            return


def _past_scales(whole: WholeGraph, name: str) -> str:
    """The node that positive constants multiply, perhaps in another shape."""
    while True:
        name = source_of_elements(whole.graph, TensorId(name, 0)).node
        scaled = constant_factor(whole, name)
        if scaled is None or scaled[1] <= 0:
            return name
        name = scaled[0]


def _margin_of_sum(whole: WholeGraph, entropy: CrossEntropy, name: str) -> str:
    """The sum of logits and a positive multiple of the labels' codes; "" of any other node."""
    graph = whole.graph
    for place, term in enumerate(graph.inputs(name)[:2] if graph.type(name) in op_types.SUMS_AND_DIFFERENCES else ()):
        scaled = constant_factor(whole, graph.origin(term).node)
        code, factor = scaled if scaled is not None else (term.node, 1.0)
        sign = -1 if graph.type(name) == "Sub" and place == 1 else 1
        is_first = graph.type(name) == "Sub" and place == 0
        if not is_first and _is_code(whole, entropy, code) and sign * factor * _on_value(whole, code) > 0:
            return name
    return ""


def _margin_of_choice(whole: WholeGraph, entropy: CrossEntropy, name: str) -> str:
    """The f(c) of logits y * f(c) + (1 - y) * c with the labels' codes y, if it is above c; "" of any other node."""
    graph = whole.graph
    products = (
        [graph.origin(tensor).node for tensor in graph.inputs(name)] if graph.type(name) in op_types.SUMS_OF_TWO else []
    )
    pairs = [
        [graph.origin(tensor).node for tensor in graph.inputs(one)] for one in products if graph.type(one) == "Mul"
    ]
    for chosen, others in zip(pairs, reversed(pairs)) if len(pairs) == 2 else ():
        for code, moved in (chosen, chosen[::-1]):
            if _is_code(whole, entropy, code):
                while graph.type(moved) in op_types.CHOICES:  # of angles that the margin keeps below pi
                    moved = graph.origin(graph.inputs(moved)[1]).node
                return moved if any(_is_raised(whole, moved, cosine) for cosine in others) else ""
    return ""


def _is_raised(whole: WholeGraph, name: str, cosine: str) -> bool:
    """Whether a node is c + m of a cosine c, or c cos m + s sin m with its sine s, for constants m above 0."""
    graph = whole.graph
    if graph.type(name) not in op_types.SUMS_OF_TWO:
        return False
    terms = [graph.origin(tensor).node for tensor in graph.inputs(name)]
    if cosine in terms:
        number = whole.value(terms[1 - terms.index(cosine)])
        return number is not None and number > 0
    scaled = [constant_factor(whole, term) for term in terms]
    factors = {graph.origin(TensorId(one[0], 0)).node: one[1] for one in scaled if one is not None}
    sines = [node for node in factors if graph.type(node) == "Sqrt" and cosine in graph.ancestors([node])]
    return len(sines) == 1 and factors[sines[0]] > 0 and 0 < factors.get(cosine, 0.0) < 1


def _is_code(whole: WholeGraph, entropy: CrossEntropy, name: str) -> bool:
    """Whether a node holds one-hot codes of the labels of a cross entropy."""
    graph = whole.graph
    code = source_of_elements(graph, TensorId(name, 0)).node
    labels = source_of_elements(graph, entropy.labels)
    if graph.type(code) != "OneHot" or code not in whole.data:
        return False
    own = source_of_elements(graph, graph.inputs(code)[0])
    return labels in (own, TensorId(code, 0)) or (
        graph.type(labels.node) == "OneHot" and source_of_elements(graph, graph.inputs(labels.node)[0]) == own
    )


def _on_value(whole: WholeGraph, name: str) -> float:
    """The number of a one-hot code at its class."""
    code = source_of_elements(whole.graph, TensorId(name, 0)).node
    return whole.value(whole.graph.inputs(code)[2].node) or 0.0
