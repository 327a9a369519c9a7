"""Hazard of a hinge loss whose labels are 0 and 1, -1 and 1 being meant."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.graph.folding import COMPARISONS
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import TensorId


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
                f"{name} is a hinge of scores times {zeros[0].node}, labels that are 0 or 1: where the label is 0, the "
                "loss is a constant, and no score gets a gradient",
                "labels of -1 and 1, 2 * label - 1; for parity keep them",
            )
            return


def _is_zero_or_one(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether a tensor holds one-hot codes of 0 and 1, or answers of data as numbers."""
    source = source_of_elements(whole.graph, tensor).node
    if whole.graph.type(source) == "OneHot":
        return [whole.value(given.node) for given in whole.graph.inputs(source)[2:4]] == [1, 0]
    is_answer = whole.graph.type(source) in COMPARISONS and source in whole.data
    return is_answer and not whole.graph.ancestors([source], controls=False) & whole.trainable
