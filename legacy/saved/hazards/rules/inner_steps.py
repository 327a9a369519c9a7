"""Hazard of a step within a loss, as of MAML, that follows the gradient of its own loss up."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiations
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import COPIES, constant_factor
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.signs.value_signs import ValueSigns
from workloads.lifted.tensors.gradient_names import forward_name, gradient_scope, is_gradient_op


def inner_steps_upwards(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds w + c * g of a weight and the gradient of an error, of which a loss is computed; one hazard for all.

    Perturbed weights, as of an adversary, are w + c * g / |g|. What may be negative, as a return, is no error.
    """
    graph = whole.graph
    for name in [name for name in whole.minimized_ops(*op_types.ADDITIONS, "Sub") if not is_gradient_op(name)]:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        weights = [variable_read(graph, node) for node in inputs]
        if len(inputs) != 2 or not whole.trainable & set(weights) or (graph.type(name) == "Sub" and not weights[0]):
            continue
        place = 0 if weights[0] in whole.trainable else 1
        gradient, rate = _scaled_gradient(whole, inputs[1 - place])
        rate = -rate if graph.type(name) == "Sub" else rate
        if rate > 0 and _is_of(whole, gradient, weights[place]) and _is_of_error(whole, gradient):
            yield Hazard(
                "LOSS_MAXIMIZED",
                name,
                f"{name} adds {rate:g} times its gradient {gradient} to {weights[place]}, and a loss is computed with "
                "the result: this inner step goes up",
                "an inner step of MAML subtracts the gradient; for parity keep the sign",
            )
            return


def _scaled_gradient(whole: WholeGraph, name: str) -> tuple[str, float]:
    """(gradient, c) of a node that is c times a gradient; ("", 0) of any other node."""
    factor = 1.0
    while not is_gradient_op(name):
        found = constant_factor(whole, name)
        if found is not None:
            name, factor = found[0], factor * found[1]
        elif whole.graph.type(name) in (*COPIES, "Neg") and whole.graph.inputs(name):
            factor *= -1 if whole.graph.type(name) == "Neg" else 1
            name = whole.graph.inputs(name)[0].node
        else:
            return "", 0.0
    return name, factor


def _is_of(whole: WholeGraph, gradient: str, weight: str) -> bool:
    """Whether a gradient is of an op that takes a weight, or of a sum of such."""
    graph = whole.graph
    parts = [tensor.node for tensor in graph.inputs(gradient)] if graph.type(gradient) == "AddN" else [gradient]
    forward = {forward_name(name, graph.nodes) for name in parts if is_gradient_op(name)} - {None}
    taken = {variable_read(graph, tensor.node) for name in forward if name for tensor in graph.inputs(name)}
    return bool(forward) and weight in taken


def _is_of_error(whole: WholeGraph, gradient: str) -> bool:
    """Whether the differentiated value is never negative, as squares and cross entropies are not."""
    roots = differentiations(whole.graph, whole.graph.ancestors([gradient], controls=False))
    own = [root for root in roots if gradient.startswith(gradient_scope(root) or root)]
    targets = [target for root in own for target in roots[root]]
    values = ValueSigns(whole)
    return bool(targets) and all(values.of(target) > 0 for target in targets)
