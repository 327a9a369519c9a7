"""Hazard of a gradient penalty that compares the square of a norm with 1, and not the norm."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from workloads.lifted.tensors.gradient_names import is_gradient_op


def squared_norms_compared(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds (sum(g^2) - 1)^2 of derivatives g, in which the root is missing; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Square", "Pow", "Mul") if not is_gradient_op(name)]:
        difference = squared(whole, name)
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(difference.node)] if difference else []
        if difference is None or graph.type(difference.node) != "Sub" or whole.value(inputs[1]) != 1:
            continue
        squares = graph.origin(graph.inputs(inputs[0])[0]).node if graph.type(inputs[0]) == "Sum" else ""
        derivative = squared(whole, squares) if squares else None
        if derivative is not None and is_gradient_op(derivative.node):
            yield Hazard(
                "NORM_WITHOUT_ROOT",
                name,
                f"{name} compares {inputs[0]}, the squared norm of a gradient, with 1: a gradient penalty compares "
                "the norm, and this one grows with its fourth power",
                "take tf.sqrt of the sum; for parity leave it out",
            )
            return
