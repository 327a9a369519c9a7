"""Made-up facts about moving statistics: one line says what differs, everything else is equal on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.causes.basics.cause import Cause, Finding
from parity.comparison.fits import FactorFit
from parity.diagnosis.candidates.statistics_owners import FIRST, StatisticsOwner
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.facts.batches import ComparedBatch
from parity.diagnosis.facts.moving_statistics import MovingStatistics
from parity.diagnosis.facts.statistic_fits import ProposalFit, ProposalMix, StepShare
from tests.parity.causes.facts import CLEAN
from tests.parity.step_records import made_up_evidence

MEAN_NAME, VARIANCE_NAME = "norm/moving_mean", "norm/moving_variance"


def proposal_fit(
    share: float = 1.0,
    factor: float = 1.0,
    share_residual: float = CLEAN,
    mix_residual: float = CLEAN,
    leverage: float = 1.0,
) -> ProposalFit:
    """Returns the fit of one proposal: the ratio of the shares, and the factor of the left's proposal."""
    return ProposalFit(FactorFit(share, share_residual), ProposalMix(factor, 0.0, mix_residual, leverage))


def moving_statistics(
    left: Sequence[StatisticsOwner] = (FIRST,),
    right: Sequence[StatisticsOwner] = (FIRST,),
    moves: Mapping[str, Sequence[ProposalFit]] | None = None,
    borrowed: bool = False,
    alike: tuple[float, float] = (0.5, 0.5),
    global_mean: float = 0.5,
    gaps: Mapping[str, float] | None = None,
    drift: Sequence[str] = (),
    shares: Sequence[StepShare] = (),
) -> MovingStatistics:
    """Returns the facts of four steps."""
    owners = {owner: CLEAN for owner in left}, {owner: CLEAN for owner in right}
    fits = {name: list(values) for name, values in (moves or {}).items()}
    return MovingStatistics(
        owners, borrowed, fits, alike, global_mean, dict(gaps or {}), list(drift), 4, shares=list(shares)
    )


def moves_of(mean: ProposalFit | None = None, variance: ProposalFit | None = None) -> dict[str, list[ProposalFit]]:
    """Returns the fits of one mean and one variance; unless given, proposals are equal on both sides.

    A variance that is not given takes in the mean's share of a batch.
    """
    mean = mean or proposal_fit()
    return {MEAN_NAME: [mean], VARIANCE_NAME: [variance or proposal_fit(share=mean.share.factor)]}


def recognized_causes(
    causes: Sequence[Cause], facts: MovingStatistics | None, batches: Sequence[ComparedBatch] = ()
) -> dict[str, Finding]:
    """Returns {id: finding} of the causes that facts about the statistics of two replicas show."""
    evidence = made_up_evidence(context=Context(replicas=2), statistics=facts, batches=list(batches))
    findings = {cause.id: cause.criterion(evidence) for cause in causes}
    return {name: finding for name, finding in findings.items() if finding is not None}
