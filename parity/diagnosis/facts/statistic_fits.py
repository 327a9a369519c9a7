"""Fits of a moving statistic's new values on the right by those on the left: how much of a batch each side takes in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from parity.comparison.fits import FactorFit, fit_combination, fit_factor, flatten_arrays, relative_norm
from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import Arrays

#: A fit of a share leaves over at most this part.
MOST_UNEXPLAINED_SHARE = 1e-3


class ProposalMix(NamedTuple):
    """Fit `right proposal ~ factor * left proposal + old_share * old value`; `residual` as in `FactorFit`.

    `leverage` is how many times as large as the relative error of a proposal the factor's error can be: large where the
    batch adds little to the old value, as in the first steps of a small variance that starts at one.
    """

    factor: float
    old_share: float
    residual: float
    leverage: float = 1.0


class StepShare(NamedTuple):
    """Part of a batch that a moving mean takes in on the right, in one step from equal weights.

    Attributes:
      step: number of the step.
      ratio: that part over the left's.
      part: that part itself; NaN where both sides had the same old value, which does not show it.
    """

    step: int
    ratio: float
    part: float


@dataclasses.dataclass(frozen=True)
class ProposalFit:
    """One replica's proposal for one statistic on the right, fitted by the left's from the same old value.

    Attributes:
      share: `FactorFit` of (right - old) by (left - old): 1 - momentum on the right over that on the left.
      mix: fit by the left's proposal and the old value, each with a coefficient of its own.
    """

    share: FactorFit
    mix: ProposalMix


def proposal_fits(
    steps: Sequence[ComparedStep], names: Sequence[str], borrowed: bool, first_kept: bool
) -> dict[str, list[ProposalFit]]:
    """Fits the right's proposals by the left's.

    What the right keeps may be the first replica's where no owner explains it, as another momentum makes it: a fit that
    fails shows otherwise.

    Args:
      steps: from equal statistics.
      names: the statistics.
      borrowed: whether the right shows no proposals.
      first_kept: whether what the right keeps is then taken for the first replica's proposal.

    Returns:
      {statistic: the fits, over steps and replicas}.
    """

    def right_proposals(step: ComparedStep) -> list[Arrays]:
        if not borrowed:
            return step.right.proposals
        return [step.right.state.statistics] if first_kept else []

    return {name: [fit for step in steps for fit in _step_fits(step, name, right_proposals(step))] for name in names}


def _step_fits(step: ComparedStep, name: str, proposals: Sequence[Arrays]) -> Iterator[ProposalFit]:
    old = np.asarray(step.left_before.statistics[name], np.float64).ravel()
    for left, right in zip(step.left.proposals, proposals):
        if name in left and name in right:
            a, b = np.asarray(left[name], np.float64).ravel(), np.asarray(right[name], np.float64).ravel()
            mix = fit_combination([a, old], b)
            factor, old_share = (float(value) for value in mix.coefficients)
            fitted = ProposalMix(factor, old_share, mix.residual, _leverage(a, old))
            yield ProposalFit(fit_factor(a - old, b - old), fitted)


def _leverage(left: np.ndarray, old: np.ndarray) -> float:
    """|left| over the length of its part beside `old`, which alone tells the factor of `left`; infinity for none."""
    beside = left - fit_factor(old, left).factor * old if np.any(old) else left
    return 1.0 / relative_norm(beside, left) if np.any(beside) else float("inf")


def step_shares(steps: Sequence[ComparedStep], names: Sequence[str], borrowed: bool) -> list[StepShare]:
    """Fits, in each step, the right's move by the left's and by the distance of the old values.

    A batch with the mean x moves the left by s (x - old) and the right by s' (x - old'), which is s' / s times the
    left's move plus s' times (old - old').

    Args:
      steps: from equal weights.
      names: the statistics, of which the means are looked at.
      borrowed: whether the right shows no proposals, so that what it keeps stands for its first one.

    Returns:
      The shares of the steps that a fit explains.
    """
    found = []
    for step in steps:
        before = step.left_before.statistics, step.right_before.statistics
        rights = [step.right.state.statistics] if borrowed else step.right.proposals
        for left, right in zip(step.left.proposals, rights):
            common = [name for name in names if "mean" in name.lower() and all(name in arrays for arrays in before)]
            if not common or not all(name in left and name in right for name in common):
                continue
            old, other = (flatten_arrays(arrays, common) for arrays in before)
            move, moved = flatten_arrays(left, common) - old, flatten_arrays(right, common) - other
            fit = fit_combination([move, old - other] if np.any(old != other) else [move], moved)
            if fit.residual <= MOST_UNEXPLAINED_SHARE:
                part = float(fit.coefficients[1]) if len(fit.coefficients) > 1 else float("nan")
                found.append(StepShare(step.left.step, float(fit.coefficients[0]), part))
    return found
