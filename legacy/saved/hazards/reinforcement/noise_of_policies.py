"""Hazard of a loss that lowers the deviation of the noise by which a network samples, without a bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.losses.deviations import scaled_noise


def minimized_noise(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses to which the logarithm h of a deviation is added, beside mu + exp(h) * noise; one hazard for all.

    The entropy of what is drawn is h and a constant: a policy's loss, and a divergence, contain it with a minus sign.
    A loss that also contains the square of the deviation, or the deviation, with a minus sign, has a whole divergence
    with the wrong sign, which is without a bound and named so.
    """
    for target in minimized_targets(whole):
        signs = linear_signs(whole, target)
        for name, sign in signs.items():
            scaled = scaled_noise(whole, name) if sign > 0 and name in whole.data else ""
            if (
                scaled
                and not _has_exponential(whole, name, signs)
                and scaled in whole.graph.ancestors([target], controls=False)
            ):
                yield Hazard(
                    "ENTROPY_MINIMIZED",
                    name,
                    f"{target} contains {name}, the logarithm of the standard deviation in {scaled}, with a positive "
                    "weight: it falls where the policy explores less",
                    "subtract the entropy; for parity keep the sign",
                )
                return


def _has_exponential(whole: WholeGraph, logarithm: str, signs: Mapping[str, int]) -> bool:
    """Whether a loss contains exp(h), exp(2 h) or exp(h)^2 with a negative weight."""
    for name in (node for node, sign in signs.items() if sign < 0):
        while whole.graph.type(name) in ("Square", "Pow", "Exp", "Identity", "Mul"):
            name = whole.graph.inputs(name)[-1 if whole.value(whole.graph.inputs(name)[0].node) is not None else 0].node
            if name == logarithm:
                return True
    return False
