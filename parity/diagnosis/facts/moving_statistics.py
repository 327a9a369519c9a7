"""Moving statistics of batch normalization: who owns the kept values, and how the two sides' proposals compare.

A replica's *proposal* is the new value that it computes for a statistic from its own batch. A saved graph shows none:
there what both sides keep is compared instead, and the port's proposals tell whose batches the old graph's values are
of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from parity.comparison.fits import flatten_arrays, relative_norm
from parity.diagnosis.candidates.statistics_owners import (
    FIRST,
    KeptStatistics,
    StatisticsOwner,
    explaining_owners,
)
from parity.diagnosis.facts.statistic_fits import ProposalFit, StepShare, proposal_fits, step_shares
from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import Arrays, StepRecord

#: Statistics before a step are the same on both sides if they differ by at most this part.
SAME_STATISTICS = 1e-6


@dataclasses.dataclass(frozen=True)
class MovingStatistics:
    """Owners of both sides' moving statistics, and comparisons of the proposals in steps from the same state.

    Attributes:
      owners: (left, right): {owner: largest unexplained part of a step} of the owners that explain every step.
      borrowed: whether the right's are explained by the left's proposals, since it shows none of its own.
      only_kept: whether the left shows no proposals, so that what each side keeps stands for its only one.
      moves: {statistic: fits of the right's proposals by the left's}, over replicas and steps.
      alike: (left, right) largest relative difference between replicas of a statistic's proposal; 0 where the
        replicas share their moments; NaN where no proposals can be compared.
      global_mean: smallest relative gap, over statistics, between the right's proposal and the mean of the left's.
      gaps: {statistic: largest relative gap between the two sides' proposals}.
      drift: statistics whose copies disagreed between the right's replicas.
      steps: number of steps with statistics.
      smaller: {statistic: part of its elements, 0 to 1, of which the right proposes a smaller value}.
      shares: of the moving means, in every step from equal weights that shows them, whatever the old values.
    """

    owners: tuple[dict[StatisticsOwner, float], dict[StatisticsOwner, float]]
    borrowed: bool
    moves: dict[str, list[ProposalFit]]
    alike: tuple[float, float]
    global_mean: float
    gaps: dict[str, float]
    drift: list[str]
    steps: int
    smaller: dict[str, float] = dataclasses.field(default_factory=dict)
    shares: list[StepShare] = dataclasses.field(default_factory=list)
    only_kept: bool = False


def measure_moving_statistics(steps: Sequence[ComparedStep]) -> MovingStatistics | None:
    """Returns the facts of the steps in which the left shows its proposals; of all where it shows none in any.

    Returns:
      the facts; None without statistics that both sides keep.
    """
    shown = [step for step in steps if _shows_proposals(step.left)]
    if not shown:
        return _measure_kept(steps)
    steps, names = shown, _common_statistics(shown)
    if not names:
        return None
    same = [step for step in steps if step.same_state and _same_statistics(step, names)]
    borrowed = not all(step.right.proposals for step in steps)
    left = explaining_owners([KeptStatistics(s.left_before, s.left, s.left.proposals) for s in steps], names)
    right = _right_owners(same if borrowed else steps, names, borrowed)
    compared = [] if borrowed else same
    return MovingStatistics(
        owners=(left, right),
        borrowed=borrowed,
        moves=proposal_fits(same, names, borrowed, FIRST in right or not right),
        alike=(
            replica_disagreement([step.left.proposals for step in compared], names),
            replica_disagreement([step.right.proposals for step in compared], names),
        ),
        global_mean=_gap_to_global_mean(compared, names),
        gaps={name: _largest_gap(compared, name) for name in names} if compared else {},
        drift=sorted({name for step in steps for name in step.right.drift if name in names}),
        steps=len(steps),
        smaller={name: _smaller_part(compared, name) for name in names} if compared else {},
        shares=step_shares([step for step in steps if step.same_state], names, borrowed),
    )


def _measure_kept(steps: Sequence[ComparedStep]) -> MovingStatistics | None:
    """The facts where the left has no proposals: the statistics after the step stand for them on both sides.

    From the same state both sides' batches have the same moments, so that the left's owners are sought among the
    right's proposals.
    """
    names = _moments_of_batches(steps[0]) if steps else []
    same = [step for step in steps if step.same_state and _same_statistics(step, names)] if names else []
    if not same:
        return None
    proposals = [_right_proposals(step, names) for step in same]
    left = explaining_owners([KeptStatistics(s.left_before, s.left, p) for s, p in zip(same, proposals)], names)
    right = explaining_owners([KeptStatistics(s.right_before, s.right, p) for s, p in zip(same, proposals)], names)
    kept = [dataclasses.replace(step, left=_with_kept(step.left), right=_with_kept(step.right)) for step in same]
    return MovingStatistics(
        owners=(left, right),
        borrowed=False,
        moves=proposal_fits(kept, names, False, True),
        alike=(float("nan"), float("nan")),
        global_mean=float("nan"),
        gaps={name: _largest_gap(kept, name) for name in names},
        drift=sorted({name for step in steps for name in step.right.drift if name in names}),
        steps=len(same),
        smaller={name: _smaller_part(kept, name) for name in names},
        shares=step_shares(kept, names, False),
        only_kept=True,
    )


def _moments_of_batches(step: ComparedStep) -> list[str]:
    """Statistics of both sides that the right proposes, or that are moments by their names: no counters."""
    left, right, proposals = step.left.state.statistics, step.right.state.statistics, step.right.proposals
    proposed = {name for proposal in proposals for name in proposal}
    moments = {name for name in left if any(word in name.lower() for word in ("mean", "var"))}
    return sorted(name for name in left if name in right and name in proposed | moments)


def _right_proposals(step: ComparedStep, names: Sequence[str]) -> list[Arrays]:
    """The right's proposals; a statistic without any, as where nothing updates it, has its own value."""
    kept = step.right.state.statistics
    return [{name: proposal.get(name, kept[name]) for name in names} for proposal in step.right.proposals or [kept]]


def _with_kept(record: StepRecord) -> StepRecord:
    """A record with the statistics after the step as its only proposals."""
    return dataclasses.replace(record, proposals=[record.state.statistics])


def _shows_proposals(record: StepRecord) -> bool:
    return bool(record.state.statistics and record.proposals and record.proposals[0])


def _common_statistics(steps: Sequence[ComparedStep]) -> list[str]:
    """Names of the statistics that the left proposes and the right keeps."""
    return sorted(set(steps[0].left.proposals[0]) & set(steps[0].right.state.statistics)) if steps else []


def _same_statistics(step: ComparedStep, names: Sequence[str]) -> bool:
    left, right = (flatten_arrays(state.statistics, names) for state in (step.left_before, step.right_before))
    return relative_norm(right - left, left) <= SAME_STATISTICS


def _right_owners(steps: Sequence[ComparedStep], names: list[str], borrowed: bool) -> dict[StatisticsOwner, float]:
    """Owners of the right's statistics; from the left's proposals, and so from its moving means alone, if borrowed.

    Two libraries' variances differ by Bessel's correction, which would hide the owner.
    """
    if not borrowed:
        return explaining_owners([KeptStatistics(s.right_before, s.right, s.right.proposals) for s in steps], names)
    means = [name for name in names if "mean" in name.lower()] or names
    return explaining_owners([KeptStatistics(s.right_before, s.right, s.left.proposals) for s in steps], means)


def replica_disagreement(steps: Sequence[Sequence[Arrays]], names: Sequence[str]) -> float:
    """Returns the largest relative difference of a replica's proposal from the first replica's.

    Args:
      steps: for each step, each replica's {statistic: proposal}.
      names: statistics to look at, each by itself.

    Returns:
      0 where the replicas share their moments, 1 for a lone replica, NaN without steps.
    """
    gaps = []
    for proposals in steps:
        for name in names:
            first = flatten_arrays(proposals[0], [name])
            others = (relative_norm(flatten_arrays(other, [name]) - first, first) for other in proposals[1:])
            gaps.append(max(others, default=1.0))
    return max(gaps, default=float("nan"))


def _largest_gap(steps: Sequence[ComparedStep], name: str) -> float:
    return max(
        relative_norm(flatten_arrays(right, [name]) - flatten_arrays(left, [name]), flatten_arrays(left, [name]))
        for step in steps
        for left, right in zip(step.left.proposals, step.right.proposals)
    )


def _smaller_part(steps: Sequence[ComparedStep], name: str) -> float:
    parts = [
        float(np.mean(flatten_arrays(right, [name]) < flatten_arrays(left, [name])))
        for step in steps
        for left, right in zip(step.left.proposals, step.right.proposals)
    ]
    return float(np.mean(parts)) if parts else float("nan")


def _gap_to_global_mean(steps: Sequence[ComparedStep], names: Sequence[str]) -> float:
    """Smallest gap, over statistics and steps, of the right's first proposal to the mean of the left's proposals."""
    gaps = []
    for step in steps:
        for name in names:
            lefts = [flatten_arrays(proposal, [name]) for proposal in step.left.proposals]
            right = flatten_arrays(step.right.proposals[0], [name])
            gaps.append(relative_norm(right - sum(lefts, np.zeros(())) / len(lefts), lefts[0]))
    return min(gaps, default=float("nan"))
