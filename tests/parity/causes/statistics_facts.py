"""Made-up facts about moving statistics: one line says what differs, everything else is equal on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.comparison.fits import FactorFit
from parity.diagnosis.candidates.statistics_owners import FIRST, StatisticsOwner
from parity.diagnosis.moving_statistics import MovingStatistics, ProposalFit, ProposalMix
from tests.parity.causes.facts import CLEAN

MEAN_NAME, VARIANCE_NAME = "norm/moving_mean", "norm/moving_variance"


def proposal_fit(
    share: float = 1.0, factor: float = 1.0, share_residual: float = CLEAN, mix_residual: float = CLEAN
) -> ProposalFit:
    """Returns the fit of one proposal: the ratio of the shares, and the factor of the left's proposal."""
    return ProposalFit(FactorFit(share, share_residual), ProposalMix(factor, 0.0, mix_residual))


def moving_statistics(
    left: Sequence[StatisticsOwner] = (FIRST,),
    right: Sequence[StatisticsOwner] = (FIRST,),
    moves: Mapping[str, Sequence[ProposalFit]] | None = None,
    borrowed: bool = False,
    alike: tuple[float, float] = (0.5, 0.5),
    global_mean: float = 0.5,
    gaps: Mapping[str, float] | None = None,
    drift: Sequence[str] = (),
) -> MovingStatistics:
    """Returns the facts of four steps."""
    owners = {owner: CLEAN for owner in left}, {owner: CLEAN for owner in right}
    fits = {name: list(values) for name, values in (moves or {}).items()}
    return MovingStatistics(owners, borrowed, fits, alike, global_mean, dict(gaps or {}), list(drift), 4)
