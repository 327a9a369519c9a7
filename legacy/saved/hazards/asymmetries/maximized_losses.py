"""Hazard of an error that updates by hand raise: the sign of the step is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs

_ERRORS = (
    *("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits", "CTCLoss"),
    *("Square", "SquaredDifference", "Abs", "L2Loss"),
)


def maximized_errors(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses of errors and cross entropies that all their updates follow up; one hazard for all."""
    if minimized_targets(whole):
        return  # one of two players may climb
    for target in whole.targets:
        signs = linear_signs(whole, target)
        errors = [name for name, sign in signs.items() if whole.graph.type(name) in _ERRORS and sign > 0]
        falls = any(sign <= 0 for name, sign in signs.items() if whole.graph.type(name) in _ERRORS)
        if errors and not falls:
            yield Hazard(
                "LOSS_MAXIMIZED",
                target,
                f"updates add the gradients of {target}, so that it grows, and it contains {errors[0]} "
                f"({whole.graph.type(errors[0])}) with a positive weight: the step has the wrong sign",
                "subtract the step; for parity keep it",
            )
            return
