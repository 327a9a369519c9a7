"""Regularization that counts once in each tower's loss, where the towers' sum makes a mean of what depends on data."""

from __future__ import annotations

from collections.abc import Mapping

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.loss_scale import may_be_its_own, sizes_of_inputs
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.linear_weights import constant_factor, linear_inputs

#: Relative difference within which a factor is one over a number.
TOLERANCE = 1e-5
#: Digits of rates of weight decay, the most usual first.
USUAL = ("1", "5", "2")


def is_undivided(whole: WholeGraph, found: Analysis, term: str, weights: Mapping[str, float]) -> bool:
    """Returns whether a tower's loss divides its data by the towers, or by all towers' examples, and not a term.

    Args:
      whole: the graph.
      found: its analysis.
      term: the node of a term of the loss.
      weights: {node: weight} of what the tower differentiates, which is its first node; see `linear_weights`.

    Returns:
      The answer; no for a rate that seems to have been divided by the towers before the graph was made.
    """
    ends = [name for name in weights if name in whole.data and not any(linear_inputs(whole, name))]
    target, count, batch = next(iter(weights)), found.plan.towers, found.plan.batch
    own = may_be_its_own(found.cut.graph, found.context.data, target, count, sizes_of_inputs(found.plan))
    by_towers = set() if own else {count}
    by_examples = {batch * count} if batch else set()
    factors = [
        (_divisors(whole, weights, end), by_towers | (by_examples if whole.graph.type(end) == "Sum" else set()))
        for end in ends
    ]
    if not factors or not all(_has_one_of(divisors, numbers) for divisors, numbers in factors):
        return False
    if _has_one_of(_divisors(whole, weights, term), {count} | by_examples):
        return False
    inside = constant_factor(whole, term)
    return not _is_divided_before(abs(weights[term] * (inside[1] if inside else 1.0)), count)


def _divisors(whole: WholeGraph, weights: Mapping[str, float], end: str) -> set[float]:
    """The constants by which a node is divided on its ways to what is differentiated."""
    found, todo, seen = set(), [end], {end}
    while todo:
        name = todo.pop()
        for user in {user for user, _, _ in whole.graph.users(name)} & weights.keys():
            found |= {abs(1 / factor) for before, factor in linear_inputs(whole, user) if before == name and factor}
            todo += [user] if user not in seen else []
            seen.add(user)
    return found


def _is_divided_before(rate: float, count: int) -> bool:
    """Whether a rate may have been divided by the towers before the graph was made: what it was then is as usual."""
    return _unusualness(rate * count) <= _unusualness(rate)


def _unusualness(rate: float) -> int:
    """The less usual the digits of a rate of decay are, as a number: 1e-4 and 5e-4 are usual, and then 2e-4."""
    digits = f"{rate:.3e}".partition("e")[0].replace(".", "").rstrip("0")
    return USUAL.index(digits) if digits in USUAL else len(USUAL) + len(digits)


def _has_one_of(divisors: set[float], numbers: set[int]) -> bool:
    return any(abs(divisor / number - 1) < TOLERANCE for divisor in divisors for number in numbers)
