"""Summary of the sharpest facts, one line each: the answer where no cause fits, and context where one does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from parity.comparison.fits import flatten_arrays, relative_norm
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.diagnosis.combined_gradients import CombinedFit
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.facts.replica_gradients import ReplicaGradient

SIDES = ("legacy", "the port")


def summarize_facts(evidence: Evidence) -> list[str]:
    """Returns the facts as lines of text, in causal order."""
    parts = (
        _initial_state_lines,
        _batch_lines,
        _gradient_lines,
        _combined_gradient_lines,
        _learning_rate_lines,
        _update_lines,
        _statistics_lines,
    )
    return [line for part in parts for line in part(evidence)]


def _initial_state_lines(evidence: Evidence) -> Iterator[str]:
    start = evidence.initial
    names = [weight.name for weight in start.weights] + list(start.slots) + start.reset + start.other
    if names:
        yield f"{counted(len(names), 'initial value differs', 'initial values differ')}, first {names[0]}"


def _batch_lines(evidence: Evidence) -> Iterator[str]:
    unlike = [batch for batch in evidence.batches if not batch.same]
    if unlike:
        first = unlike[0]
        yield (
            f"other batches in {len(unlike)} of {counted(len(evidence.batches), 'step')}, first at step {first.step}: "
            f"{first.shared:.0%} of the examples are shared"
        )


def _gradient_lines(evidence: Evidence) -> Iterator[str]:
    found = [entry for entry in evidence.gradients if np.isfinite(entry.fit.factor)]
    clean = evidence.clean_residual
    if not found:
        yield "no step from the same state shows gradients on both sides"
    elif any(entry.fit.residual > clean or abs(entry.fit.factor - 1) > clean for entry in found):
        yield from _gradient_difference_lines(found)
    else:
        yield f"gradients agree to {max(entry.fit.residual for entry in found):.1e} in steps from the same state"


def _gradient_difference_lines(found: list[ReplicaGradient]) -> Iterator[str]:
    worst = max(found, key=lambda entry: entry.fit.residual)
    factors, losses = [entry.fit.factor for entry in found], [entry.loss for entry in found]
    yield (
        f"gradients are {min(factors):.6g} to {max(factors):.6g} x legacy's, "
        f"residual up to {worst.fit.residual:.1e} (step {worst.step}, replica {worst.replica})"
    )
    yield f"losses are {min(losses):.6g} to {max(losses):.6g} x legacy's"
    fits = {name: fit for entry in found for name, fit in entry.tensors.items() if np.isfinite(fit.residual)}
    if fits:
        name = max(fits, key=lambda n: max(fits[n].residual, abs(fits[n].factor - 1)))
        yield f"most of it in {name}: {fits[name].factor:.6g} x, residual {fits[name].residual:.1e}"


def _combined_gradient_lines(evidence: Evidence) -> Iterator[str]:
    for fit, side in zip(evidence.combined_fits, SIDES):
        if fit is not None:
            yield from _combined_side_lines(fit, side)


def _combined_side_lines(fit: CombinedFit, side: str) -> Iterator[str]:
    if fit.first is not None:
        yield f"{side}'s combined gradient is {fit.first} (residual {fit.fits[fit.first]:.1e})"
        return
    best = fit.coefficients[0]
    yield f"{side}'s combined gradient is no mean or sum of its replicas' gradients"
    yield f"the best weights of a sum, {_numbers(best.coefficients)}, leave a residual of {best.residual:.1e}"


def _learning_rate_lines(evidence: Evidence) -> Iterator[str]:
    rates = evidence.learning_rates
    if len(rates.steps) and not rates.equal:
        yield f"learning rates {_numbers(rates.right[:5])} against {_numbers(rates.left[:5])}"


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def _update_lines(evidence: Evidence) -> Iterator[str]:
    for updates, side in zip(evidence.updates, SIDES):
        if updates is not None:
            known = [step.factor.factor for step in updates.steps if np.isfinite(step.factor.factor)]
            if known:
                misfit = updates.misfit(updates.own_form)
                size = f"within {misfit:.1f} roundings" if np.isfinite(misfit) else "with values that are not finite"
                yield f"{side}'s weights change by {known[0]:.6g} x the update of its rule, {size}"
            else:
                yield f"{side}'s rule changes no weight"


def _statistics_lines(evidence: Evidence) -> Iterator[str]:
    steps = [step for step in evidence.steps if step.same_state]
    sides = [side.state.statistics for step in steps[:1] for side in (step.left, step.right)]
    names = sorted(set.intersection(*map(set, sides))) if sides else []
    if names and steps:
        left = flatten_arrays(steps[0].left.state.statistics, names)
        right = flatten_arrays(steps[0].right.state.statistics, names)
        gap = relative_norm(right - left, left)
        if gap > 0:
            yield f"statistics differ by {gap:.1e} after the first step"
