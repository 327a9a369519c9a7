"""Hazard of losses that grow with an overlap of boxes, I / (A + B - I), or with its logarithm."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.weighed_values import counted_elements, made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def minimized_overlaps_of_boxes(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses to which an overlap of boxes, or its logarithm, is added; one hazard for all."""
    graph = whole.graph
    for target in minimized_targets(whole):
        for name, sign in _signs(whole, target).items():
            quotient = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Log" else name
            if sign <= 0 or is_gradient_op(quotient) or not _is_overlap(whole, quotient):
                continue
            itself = quotient if quotient == name else f"the logarithm {name} of the overlap {quotient}"
            yield Hazard(
                "OVERLAP_MINIMIZED",
                quotient,
                f"the loss {target} grows with {itself} (such as IoU) of predicted and given boxes: it is lower where "
                "they overlap less",
                "minimize 1 - overlap, or minus its logarithm; for parity keep the sign",
            )
            return


def _signs(whole: WholeGraph, target: str) -> dict[str, int]:
    """{node: sign} as of `linear_signs`, also through means with weights: sum(x w) / sum(w)."""
    found: dict[str, int] = {}
    todo = [(target, 1)]
    while todo:
        start, own = todo.pop()
        for name, sign in linear_signs(whole, start).items():
            if name in found:
                continue
            found[name] = own * sign
            todo += [(value, own * sign) for value in _averaged(whole, name)]
    return found


def _averaged(whole: WholeGraph, name: str) -> list[str]:
    """The tensor of which a quotient is a mean with weights of data, sum(x w) / sum(w); none of any other node."""
    graph = whole.graph
    if graph.type(name) not in op_types.QUOTIENTS:
        return []
    total, divisor = (graph.origin(tensor).node for tensor in graph.inputs(name)[:2])
    weights = counted_elements(whole, divisor)
    product = source_of_elements(graph, graph.inputs(total)[0]).node if graph.type(total) == "Sum" else ""
    inputs = graph.inputs(product) if weights and product and graph.type(product) == "Mul" else []
    are_weights = [source_of_elements(graph, tensor).node == weights for tensor in inputs]
    return [inputs[are_weights.index(False)].node] if sorted(are_weights) == [False, True] else []


def _is_overlap(whole: WholeGraph, name: str) -> bool:
    """Whether a node is I / (A + B - I), perhaps with numbers added, of a box that weights make and one that none does.

    What keeps predicted boxes apart from each other has this form, too.
    """
    graph = whole.graph
    if graph.type(name) not in op_types.QUOTIENTS:
        return False
    above, below = (_terms(whole, tensor) for tensor in graph.inputs(name)[:2])
    areas = [node for node, sign in below.items() if sign > 0 and node in whole.data]
    shared = [node for node, sign in above.items() if sign > 0 and below.get(node, 0) < 0]
    are_made = {node in made_by_weights(whole) for node in areas}
    return len(are_made) == 2 and any(node in whole.data and node in made_by_weights(whole) for node in shared)


def _terms(whole: WholeGraph, tensor: TensorId) -> dict[str, int]:
    """{node: sign} of the ends of a sum."""
    graph = whole.graph
    signs = linear_signs(whole, graph.origin(tensor).node)
    sums = (*op_types.ADDITIONS, "Sub", "Neg", "Identity", "Maximum")
    return {node: sign for node, sign in signs.items() if graph.type(node) not in sums and whole.value(node) is None}
