"""Hazard of regularization terms that are all zero: the rate was left at its default, or set to 0."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import is_zero_term, linear_weights
from legacy.saved.hazards.penalties.terms import Penalty, find_penalties
from workloads.support.wording import counted


def zero_regularization(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a program whose regularization terms are all multiplied by 0."""
    penalties = find_penalties(whole)
    weights = [linear_weights(whole, target) for target in whole.targets] if penalties else []
    if penalties and all(is_zero_term(whole, penalty.op) or _counts_nothing(weights, penalty) for penalty in penalties):
        names = {name for penalty in penalties for name in penalty.variables}
        yield Hazard(
            "REGULARIZATION_ZERO",
            penalties[0].op,
            f"every regularization term of {counted(len(names), 'variable')} is multiplied by 0: no weight decays",
            "leave them out for parity, or give them the rate that was meant and say so",
        )


def _counts_nothing(weights: list[dict[str, float]], penalty: Penalty) -> bool:
    """Whether losses contain a penalty, each times 0, as where their sum is multiplied by 1 / 2 of whole numbers."""
    found = [of_target[penalty.op] for of_target in weights if penalty.op in of_target]
    return bool(found) and not any(found)
