"""Hazard of a loss that lowers the deviation of the noise by which a network samples, without a bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import linear_part
from legacy.saved.hazards.losses.deviations import scaled_noise


def minimized_noise(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses to which the logarithm h of a deviation is added, beside mu + exp(h) * noise; one hazard for all.

    The entropy of what is drawn is h and a constant: a policy's loss, and a divergence, contain it with a minus sign.
    A loss that also contains the square of the deviation, or the deviation, with a minus sign, has a whole divergence
    with the wrong sign, which is without a bound and named so. One that contains squares of other errors divided by the
    deviation, as the likelihood of data and the divergence from an older policy do, has a minimum at a deviation.
    """
    for target in minimized_targets(whole):
        signs = linear_signs(whole, target)
        for name, sign in signs.items():
            scaled = scaled_noise(whole, name) if sign > 0 and name in whole.data else ""
            if (
                scaled
                and not _has_exponential(whole, name, signs)
                and not _divides_other_errors(whole, name, signs, scaled)
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


def _divides_other_errors(whole: WholeGraph, logarithm: str, signs: Mapping[str, int], noise: str) -> bool:
    """Whether a loss contains a term that falls with the deviation exp(h) and does not depend on draws with it.

    Args:
      whole: the graph.
      logarithm: the node h.
      signs: of the loss's terms.
      noise: product of exp(h) and random numbers.
    """
    graph = whole.graph
    for term in [node for node, sign in signs.items() if sign > 0]:
        name = term
        while graph.type(name) in ("Square", "Pow", "Identity"):
            name = graph.inputs(name)[0].node
        kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
        is_quotient = kind in op_types.QUOTIENTS and _exponent(whole, inputs[1], logarithm) > 0
        is_product = kind == "Mul" and any(_exponent(whole, factor, logarithm) < 0 for factor in inputs)
        if (is_quotient or is_product) and noise not in graph.ancestors([name], controls=False):
            return True
    return False


def _exponent(whole: WholeGraph, name: str, logarithm: str) -> float:
    """Returns the sign of c of a multiple of exp(c h), perhaps with a number added; 0 of any other node."""
    graph = whole.graph
    while graph.type(name) != "Exp":
        kind, part = graph.type(name), linear_part(whole, name)
        if kind in ("Square", "Pow"):
            name = graph.inputs(name)[0].node
        elif part is not None and part[1] > 0:
            name = part[0]
        else:
            return 0.0
    source, factor = graph.inputs(name)[0].node, 1.0
    while source != logarithm:
        part = linear_part(whole, source)
        if part is None:
            return 0.0
        source, factor = part[0], factor * part[1]
    return factor
