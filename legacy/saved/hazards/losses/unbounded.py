"""Hazard of a loss from which squares are subtracted, so that it falls without end."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import QUOTIENTS, SUMS
from workloads.lifted.tensors.gradient_names import is_gradient_op

_SQUARES = ("Square", "SquaredDifference", "L2Loss")


def subtracted_squares(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses from which squares of what weights compute are subtracted: they fall without end; one for all."""
    graph = whole.graph
    for target in whole.targets:
        for name, sign in linear_signs(whole, target).items():
            if is_gradient_op(name):
                continue
            is_followed = gradient_flow(whole).passes(name) and target in minimized_targets(whole)
            if is_followed and graph.type(name) == "Log" and _is_subtracted_error(whole, name, sign):
                yield Hazard(
                    "LOSS_WITHOUT_BOUND",
                    name,
                    f"{target} contains the logarithm {name} of an error so that it falls without end where the error "
                    "grows, as where a signal-to-noise ratio is minimized",
                    "change the sign; for parity keep it",
                )
                return
            if sign >= 0 or graph.type(name) not in _SQUARES:
                continue
            inner = [graph.origin(tensor).node for tensor in graph.inputs(name)]
            is_trained = name in whole.data and any(_is_unbounded(whole, node) for node in inner)
            if is_trained and is_followed:
                yield Hazard(
                    "LOSS_WITHOUT_BOUND",
                    name,
                    f"{target} contains {name} ({graph.type(name)}) with a negative weight: it falls without end where "
                    "what is squared grows",
                    "check the sign, or bound it, as max(0, margin - distance) does; for parity keep it",
                )
                return


def _is_subtracted_error(whole: WholeGraph, name: str, sign: int) -> bool:
    """Whether a logarithm is of the mean or sum of a network's squared errors, and falls in the loss as that grows."""
    graph, inner = whole.graph, whole.graph.inputs(name)[0].node
    while True:
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(inner)]
        others = [node for node in inputs if whole.value(node) is None]
        if graph.type(inner) in QUOTIENTS and whole.value(inputs[0]) is not None:
            inner, sign = inputs[1], -sign
        elif graph.type(inner) in ("Add", "AddV2", "Mul", *QUOTIENTS) and len(others) == 1:
            inner = others[0]
        else:
            break
    if graph.type(inner) not in ("Mean", "Sum") or sign >= 0:
        return False
    squares = graph.origin(graph.inputs(inner)[0]).node
    errors = [graph.origin(tensor).node for tensor in graph.inputs(squares)] if graph.type(squares) in _SQUARES else []
    return squares in whole.data and any(_is_unbounded(whole, node) for node in errors)


def _is_unbounded(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a sum of layers' results, without an activation that bounds it."""
    graph, kind = whole.graph, whole.graph.type(name)
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
    if kind in ("MatMul", "Conv2D", "BiasAdd"):
        return bool(graph.ancestors([name], controls=False) & whole.trainable)
    if kind in SUMS or kind in ("Relu", "Reshape", "Squeeze", "ExpandDims", "DepthToSpace"):
        return any(_is_unbounded(whole, before) for before in inputs)
    return False
