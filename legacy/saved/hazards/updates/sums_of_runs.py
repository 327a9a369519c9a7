"""Hazard of gradients that several runs add up, and that are applied as their sum."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import applied_gradient
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor, linear_weights
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.runs.accumulation import accumulators, sums_of_gradients
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted, listed

#: Of variables, so many are named; factors that differ by less are equal.
MOST_NAMED, TOLERANCE = 3, 1e-6


def sums_that_are_not_divided(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sums of several runs' gradients that an update takes as they are; one hazard for all.

    Neither the update, nor what a run adds, nor its loss has a constant that could be the number of runs; factors that
    the graph computes, such as a counter of the runs, may be.
    """
    if any(_has_factor(whole, target) for target in whole.targets):
        return
    kept = accumulators(whole.graph, whole.applies, whole.trainable)
    sums = sums_of_gradients(whole.graph, kept)
    found: dict[str, str] = {}
    for apply in whole.applies:
        gradient = applied_gradient(whole, apply)
        weights = linear_weights(whole, gradient) if gradient else {}
        taken = {variable_read(whole.graph, name): weight for name, weight in weights.items()}
        for variable in sums & set(taken):
            is_whole = abs(taken[variable] - 1) < TOLERANCE
            if is_whole and all(_is_mean_of_towers(whole, name) for name in kept[variable]):
                found[variable] = apply
    for variable, apply in found.items():
        yield Hazard(
            "GRADIENTS_OF_RUNS_SUMMED",
            apply,
            f"{counted(len(found), 'sum')} of several runs' gradients ({listed(list(found), MOST_NAMED)}): {apply} "
            f"takes {variable} as it is, and nothing divides it by the number of runs: the gradient of k runs is k "
            "times that of one, unless the learning rate is divided",
            "divide the sums, or each run's loss, by the number of runs; for parity keep the sum",
        )
        return


def _has_factor(whole: WholeGraph, target: str) -> bool:
    """Whether what is differentiated is a multiple of something else, as a loss that is divided by the runs."""
    return constant_factor(whole, target) is not None


def _is_mean_of_towers(whole: WholeGraph, addition: str) -> bool:
    """Whether an assignment adds the mean or the sum of towers' gradients, without a further factor."""
    weights = linear_weights(whole, whole.graph.inputs(addition)[1].node)
    factors = [weight for name, weight in weights.items() if is_gradient_op(name)]
    return bool(factors) and all(min(abs(f - 1), abs(f - 1 / whole.count)) < TOLERANCE for f in factors)
