"""Hazard of a loss that lowers the deviation of the noise by which a network samples, without a bound."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.losses.deviations import scaled_noise


def minimized_noise(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses to which the logarithm h of a deviation is added, beside mu + exp(h) * noise; one hazard for all.

    The entropy of what is drawn is h and a constant: a policy's loss, and a divergence, contain it with a minus sign.
    """
    for target in minimized_targets(whole):
        for name, sign in linear_signs(whole, target).items():
            scaled = scaled_noise(whole, name) if sign > 0 and name in whole.data else ""
            if scaled and scaled in whole.graph.ancestors([target], controls=False):
                yield Hazard(
                    "ENTROPY_MINIMIZED",
                    name,
                    f"{target} contains {name}, the logarithm of the standard deviation in {scaled}, with a positive "
                    "weight: it falls where the policy explores less",
                    "subtract the entropy; for parity keep the sign",
                )
                return
