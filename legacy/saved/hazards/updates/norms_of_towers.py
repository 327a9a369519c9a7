"""Hazard of a tower's gradients that are clipped by the norm of another tower's."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.clipping import NORMS
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op

_PRODUCTS = ("Mul", "RealDiv", "Div")


def clipped_by_another_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds gradients of a tower that are scaled by a norm of other towers' gradients alone; one hazard for all."""
    graph = whole.graph
    backward = {name for name in whole.labels if is_gradient_op(name)} if whole.count > 1 else set()
    for name in [name for name in graph.nodes if name in whole.reach and graph.type(name) in _PRODUCTS]:
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        if is_gradient_op(name) or not backward.intersection(inputs):
            continue
        for gradient, factor in zip(inputs, reversed(inputs)):
            before = graph.ancestors([factor], stop=backward, controls=False) if gradient in backward else set()
            towers = whole.towers_of(before & backward)
            has_norm = any(graph.type(node) in NORMS for node in before - backward)
            if has_norm and factor not in backward and towers and whole.labels[gradient] not in towers:
                own, others = whole.labels[gradient], ", ".join(map(str, sorted(towers)))
                yield Hazard(
                    "CLIPPED_BY_ANOTHER_TOWER",
                    name,
                    f"{name} scales the gradient {gradient} of tower {own} by a norm of those of tower {others} alone: "
                    "what is too large in one tower is not clipped",
                    "clip each replica's gradients by their own norm, or the reduced ones; for parity gather the norm",
                )
                return
