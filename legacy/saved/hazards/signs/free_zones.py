"""Hazard of two hinges, weighted by labels y and 1 - y, that are both 0 between their bounds."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_source
from legacy.saved.hazards.signs.opposed_labels import complements, weighed
from workloads.lifted.tensors.gradient_names import is_gradient_op


def overlapping_hinges(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds y max(0, x - a) and (1 - y) max(0, b - x) with b < a, of one result x of weights; one hazard for all.

    With b above a, x is below a under one label and above b under the other. With b below a, an x between both costs
    nothing, whatever the label is.
    """
    found = {name: _hinge(whole, name) for name in whole.minimized_ops("Relu", "Maximum")}
    hinges = [(name, *hinge) for name, hinge in found.items() if hinge is not None]
    for label, complement in complements(whole) if len(hinges) > 1 else ():
        one, other = (weighed(whole, node) for node in (label, complement))
        for name, source, sign, bound in [hinge for hinge in hinges if hinge[0] in one - other]:
            for second, same, opposite, end in [hinge for hinge in hinges if hinge[0] in other - one]:
                is_free = sign * (bound - end) > 0
                passes = gradient_flow(whole).passes(name) and gradient_flow(whole).passes(second)
                if same == source and opposite == -sign and is_free and passes:
                    yield Hazard(
                        "HINGES_OVERLAP",
                        name,
                        f"{name}, weighted by {label}, is 0 where {source} is {'below' if sign > 0 else 'above'} "
                        f"{bound:g}, and {second}, weighted by 1 - {label}, where it is "
                        f"{'above' if sign > 0 else 'below'} {end:g}: between the two bounds the loss is 0 for either "
                        "label",
                        "exchange the differences, max(0, a - x) and max(0, x - b); for parity keep them",
                    )
                    return


def _hinge(whole: WholeGraph, name: str) -> tuple[str, int, float] | None:
    """(x, 1, a) of max(0, x - a), and (x, -1, a) of max(0, a - x), of what weights make; None of any other node."""
    graph = whole.graph
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
    if graph.type(name) == "Maximum":
        inputs = [node for node in inputs if whole.value(node) != 0]
    if is_gradient_op(name) or len(inputs) != 1:
        return None
    source, factor, offset = linear_source(whole, inputs[0])
    return (source, 1 if factor > 0 else -1, -offset / factor) if factor else None
