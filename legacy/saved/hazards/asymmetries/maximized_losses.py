"""Hazard of an error that updates by hand raise: the sign of the step is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
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
        # The logarithm of a share that labels multiply has the sign of a cross entropy when it is negated.
        products = {entropy.op for entropy in cross_entropies(whole) if entropy.is_product}
        own = {name: -sign for name, sign in signs.items() if name in products}
        own.update({name: sign for name, sign in signs.items() if whole.graph.type(name) in _ERRORS})
        errors = [name for name, sign in own.items() if sign > 0]
        falls = any(sign <= 0 for sign in own.values())
        if errors and not falls:
            yield Hazard(
                "LOSS_MAXIMIZED",
                target,
                f"updates add the gradients of {target}, so that it grows, and it contains the error {errors[0]} "
                f"({whole.graph.type(errors[0])}): the step has the wrong sign",
                "subtract the step; for parity keep it",
            )
            return
