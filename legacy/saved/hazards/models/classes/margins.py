"""Margins of classes by cosines: what logits are but for that of the true class."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.linear_weights import constant_factor
from workloads.lifted.graph import TensorId

_COPIES = ("Identity", "Reshape", "Cast", "CheckNumerics")


def without_margin(whole: WholeGraph, name: str) -> str:
    """Returns the node of which logits are a copy, perhaps bounded, but for those of the true class.

    Args:
      whole: the graph.
      name: of the logits; one-hot labels, or a condition of data, may choose those of the true class.
    """
    graph = whole.graph
    while True:
        scaled = constant_factor(whole, name)
        if graph.type(name) in op_types.CHOICES:
            condition, _, others = (tensor.node for tensor in graph.inputs(name)[:3])
            if condition not in whole.data or graph.ancestors([condition], controls=False) & whole.trainable:
                return name
            name = others
        elif _beside_labels(whole, name):
            name = _beside_labels(whole, name)
        elif scaled is not None and 0 < scaled[1] <= 1:  # which makes the differences of logits smaller still
            name = scaled[0]
        elif graph.type(name) in _COPIES or _is_bound(whole, name):
            name = graph.inputs(name)[0].node
        else:
            return name


def _beside_labels(whole: WholeGraph, name: str) -> str:
    """The node that logits are but for the true class, as c of y * f(c) + (1 - y) * c, or of c - y * margin.

    Returns:
      Its name; "" of what has no such form with one-hot labels y.
    """
    graph = whole.graph
    terms = [graph.origin(tensor).node for tensor in graph.inputs(name)]
    if graph.type(name) == "Sub" and _is_labels(whole, _without_factor(whole, terms[1])):
        return terms[0]
    if graph.type(name) not in op_types.SUMS_OF_TWO:
        return ""
    pairs = [[graph.origin(tensor).node for tensor in graph.inputs(one)] for one in terms if graph.type(one) == "Mul"]
    for chosen, others in zip(pairs, reversed(pairs)) if len(pairs) == 2 else ():
        for rest, cosines in (others, others[::-1]):
            if any(_is_labels(whole, labels) and _is_rest_of(whole, rest, labels) for labels in chosen):
                return cosines
    return ""


def _is_bound(whole: WholeGraph, name: str) -> bool:
    """Whether a node bounds its first input by a constant."""
    graph = whole.graph
    bounds = graph.type(name) in op_types.BOUNDS
    return bounds and whole.value(graph.inputs(name)[1].node) is not None


def _without_factor(whole: WholeGraph, name: str) -> str:
    """The node that a node is a multiple of by a constant; itself of any other."""
    scaled = constant_factor(whole, name)
    return name if scaled is None else whole.graph.origin(TensorId(scaled[0], 0)).node


def _is_labels(whole: WholeGraph, name: str) -> bool:
    """Whether a node holds one-hot codes of data."""
    return whole.graph.type(name) == "OneHot" and name in whole.data


def _is_rest_of(whole: WholeGraph, name: str, labels: str) -> bool:
    """Whether a node is 1 less some labels."""
    inputs = [whole.graph.origin(t).node for t in whole.graph.inputs(name)] if whole.graph.type(name) == "Sub" else []
    return bool(inputs) and whole.value(inputs[0]) == 1 and inputs[1] == labels
