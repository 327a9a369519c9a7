"""Hazard of scores of queries and keys that are multiplied by the root of their size, and not divided."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import hands_elements_on
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.models.classes.unit_vectors import normalized_along
from workloads.lifted.graph import Graph, TensorId

_TOLERANCE = 1e-3


def scores_scaled_up(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds scores of queries and keys that are multiplied by the root of their size; one hazard for all.

    The factor may be that of the scores, of the queries or of both queries and keys.
    """
    graph, imported = whole.graph, found.context.imported
    for softmax in whole.minimized_ops("Softmax"):
        product = _past_masks(graph, graph.inputs(softmax)[0].node)
        scaled = constant_factor(whole, product)
        scores = _past(graph, scaled[0]) if scaled is not None else product
        if graph.type(scores) not in op_types.MATRIX_PRODUCTS:
            continue
        if scores not in found.cut.graph.nodes:
            continue
        shape = imported.shape(*found.cut.graph.inputs(scores)[0])
        size = shape[-1] if shape else None
        sides = [_without_factor(whole, side) for side in graph.inputs(scores)[:2]]
        if any(normalized_along(whole, side) for side, _, _ in sides):
            continue  # cosines, which need a factor
        if any(own != 1 and graph.type(side.node) in op_types.LOOKUPS for side, own, _ in sides):
            continue  # words, which are multiplied by it themselves
        factors = [(product, scaled[1])] if scaled is not None else []
        factors += [(name, factor) for _, factor, name in sides if factor != 1]
        factor = 1.0
        for _, own in factors:
            factor *= own
        if size is not None and size > 1 and abs(factor - size**0.5) < _TOLERANCE:
            names = " and ".join(name for name, _ in factors)
            yield Hazard(
                "SCORES_SCALED_UP",
                factors[0][0],
                f"{names} {'multiplies' if len(factors) == 1 else 'multiply'} scores of queries and keys of {size} "
                f"elements by {factor:.4g}, the square root of {size}, where attention divides by it: the softmax is "
                "nearly one-hot",
                "divide by the square root; for parity keep it",
            )
            return


def _without_factor(whole: WholeGraph, tensor: TensorId) -> tuple[TensorId, float, str]:
    """(the tensor that a constant multiplies to another, perhaps in another shape; the constant, 1 if none; its op)."""
    graph, factor, by = whole.graph, 1.0, tensor.node
    while graph.inputs(tensor.node):
        scaled = constant_factor(whole, tensor.node)
        if scaled is not None:
            factor, by, tensor = factor * scaled[1], tensor.node, TensorId(scaled[0], 0)
        elif hands_elements_on(graph, tensor.node):
            tensor = graph.inputs(tensor.node)[0]
        else:
            break
    return tensor, factor, by


def _past(graph: Graph, name: str) -> str:
    while graph.type(name) in ("Identity", "Reshape") and graph.inputs(name):
        name = graph.inputs(name)[0].node
    return name


def _past_masks(graph: Graph, name: str) -> str:
    """The scores that a mask is added to, or that are chosen where there is no mask; the node itself of any other.

    The scores are the one input that a product of matrices is scaled to.
    """
    while True:
        name = _past(graph, name)
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) not in ("Add", "AddV2", "Select", "SelectV2") or not inputs:
            return name
        scores = [
            before for before in inputs if any(graph.type(n) in op_types.MATRIX_PRODUCTS for n in _near(graph, before))
        ]
        if len(scores) != 1:
            return name
        name = scores[0]


def _near(graph: Graph, name: str) -> set[str]:
    """A node and those that it is made of by at most four ops, as many as masks and a scale are."""
    level, seen = {name}, {name}
    for _ in range(4):
        level = {tensor.node for before in level for tensor in graph.inputs(before)} - seen
        seen |= level
    return seen
