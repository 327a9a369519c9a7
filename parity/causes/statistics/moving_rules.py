"""Causes in the rule by which batch normalization updates its moving statistics: Bessel's correction, momentum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor, shortest_decimal
from parity.causes.statistics import faulty_batch_norm
from parity.causes.statistics.faulty_batch_norm import in_batch_norm, make_batch_norm
from parity.causes.statistics.moving_statistics import normalizing
from parity.comparison import stages
from parity.comparison.fits import largest, near, spread
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.causes.basics.injection import Change
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.facts.moving_statistics import MovingStatistics
    from parity.diagnosis.facts.statistic_fits import ProposalFit, StepShare

#: Shares of the batch statistics agree within this part.
SAME_SHARE = 1e-3

#: Another momentum moves variances as it moves means, but for Bessel's correction: the factors agree within this part
#: of their distance from 1. Inputs of another scale change them in another way.
PART_OF_RATIO = 0.5

#: Two sides' means agree within this part (kernels round them), or within this part of what their variances differ by.
SAME_MEAN, PART_OF_VARIANCE = 2e-5, 0.05


def bn_bessel(evidence: Evidence) -> Finding | None:
    """Recognizes BN_BESSEL: the variances differ by n / (n - 1) and the means agree."""
    facts = evidence.statistics
    if facts is None:
        return None
    means, variances = _fits_of(facts, is_mean), _fits_of(facts, is_variance)
    mixes = [fit.mix for fit in variances]
    if not means or not all(mix.residual <= 4 * evidence.clean_residual for mix in mixes):
        return None
    if not all(near(fit.share.factor, 1, SAME_SHARE) for fit in means):
        return None
    factors = {name: _median_factor(fits) for name, fits in facts.moves.items() if is_variance(name)}
    factors = {name: factor for name, factor in factors.items() if _sees_same_values(facts, name, factor)}
    noise = max([1e-5, *(10 * mix.residual for mix in mixes), *(2 * fit.mix.residual for fit in means)])
    noise = max([noise, *(evidence.eps * _median_leverage(facts.moves[name]) for name in factors)])
    if all(near(factor, 1, noise) for factor in factors.values()) or not _in_one_direction(facts, noise, evidence.eps):
        return None
    counts = {name: bessel_count(factor) for name, factor in factors.items() if not near(factor, 1, 1e-6)}
    if any(not _may_be_a_count(count, evidence.context.per_replica_batch, noise) for count in counts.values()):
        return None
    name, count = min(counts.items(), key=lambda item: item[1])
    return Finding(
        f"The variance that enters the port's moving variance is {format_factor(factors[name])} x legacy's "
        f"({round(count)} examples and positions in {name}): one side stores it with Bessel's correction n / (n - 1), "
        "the other without.",
        HIGH,
        "moving means agree; variance fitted as a x legacy's + c x old, residual "
        f"{largest(mix.residual for mix in mixes):.1e}",
        {"factor": factors[name]},
    )


def bessel_count(factor: float) -> float:
    """Returns the n of which a factor other than 1 is n / (n - 1), or (n - 1) / n.

    >>> round(bessel_count(1.25)), round(bessel_count(0.75))
    (5, 4)
    """
    return 1 / abs(1 - (factor if factor < 1 else 1 / factor))


def _may_be_a_count(count: float, batch: int, noise: float) -> bool:
    """Whether a fitted count may be that of a replica's examples and positions: a multiple of its batch.

    Args:
      count: fitted, from a factor that is off by up to `noise`.
      batch: examples of one replica; 0 if it is not known.
      noise: of the factor; a count is off by so many times its square.
    """
    multiple = count / (batch or 1)
    if multiple < 0.5:
        return False
    return abs(multiple - round(multiple)) <= max(0.02, 2 * noise * count) * multiple


def _sees_same_values(facts: MovingStatistics, variance: str, factor: float) -> bool:
    """Whether the mean of a variance's layer agrees far better than the variance does.

    A correction of the variance leaves the values alone that are normalized, and so their mean. Where the mean moves
    with the variance, an earlier layer differs. A layer without a mean of its own shows nothing of that.

    Args:
      facts: of both sides' statistics.
      variance: name of the moving variance.
      factor: of the port's variance by legacy's.
    """
    layer = _layer(variance)
    means = [part for name, part in facts.moves.items() if is_mean(name) and _layer(name) == layer]
    fits = [fit.share for part in means for fit in part]
    gap = largest(np.hypot(fit.residual, fit.factor - 1) for fit in fits) if fits else 0.0
    return gap <= max(SAME_MEAN, PART_OF_VARIANCE * abs(factor - 1))


def _layer(statistic: str) -> str:
    return statistic.rsplit("/", 1)[0]


def _in_one_direction(facts: MovingStatistics, noise: float, eps: float) -> bool:
    """Whether no variance becomes larger where another becomes smaller, in any proposal: only one side corrects.

    Args:
      facts: of both sides' statistics.
      noise: by which a factor may differ from 1.
      eps: relative rounding error of a proposal.
    """
    mixes = [fit.mix for fit in _fits_of(facts, is_variance)]
    gaps = [(mix.factor - 1) / max(noise, eps * mix.leverage) for mix in mixes]
    return not (any(gap > 1 for gap in gaps) and any(gap < -1 for gap in gaps))


def _median_factor(fits: Sequence[ProposalFit]) -> float:
    return float(np.median([fit.mix.factor for fit in fits]))


def _median_leverage(fits: Sequence[ProposalFit]) -> float:
    return float(np.median([fit.mix.leverage for fit in fits]))


def bn_decay_099_0999(evidence: Evidence) -> Finding | None:
    """Recognizes BN_DECAY_099_0999: the means take in another share of a batch, so the momentum differs."""
    facts = evidence.statistics
    shares = [] if facts is None else [fit.share for fit in _fits_of(facts, is_mean)]
    if not shares or largest(share.residual for share in shares) > 1e-3 or spread([s.factor for s in shares]) > 1e-2:
        return None
    ratio = float(np.median([share.factor for share in shares]))
    if facts is None or near(ratio, 1, SAME_SHARE) or _contradicted_by_variances(facts, ratio):
        return None
    steps = len({share.step for share in facts.shares})
    if steps > 1 and spread([share.ratio for share in facts.shares]) > 1e-2:
        return _changing_share(facts.shares)
    libraries = " (10 is 0.99 against 0.999)" if near(ratio, 10, 0.02) or near(ratio, 0.1, 0.02) else ""
    return Finding(
        f"The port's moving statistics take in {format_factor(ratio)} x legacy's share of a batch: 1 - momentum "
        f"differs by that factor{libraries}.",
        HIGH if steps != 1 else MEDIUM,
        f"the same ratio in {len(shares)} proposals, residual {largest(share.residual for share in shares):.1e}"
        + ("; one step alone shows it, and a share that changes with the steps would look the same" * (steps == 1)),
        {"ratio": shortest_decimal(ratio, 1e-3)},
    )


def _changing_share(shares: Sequence[StepShare]) -> Finding | None:
    """Recognizes a share of the batch that is another one in each step, such as that of a cumulative average."""
    ratios = {share.step: share.ratio for share in shares}
    first = min(ratios)
    if any(not np.isfinite(ratio) or ratio <= 0 for ratio in ratios.values()):
        return None
    # A cumulative average of n batches takes in 1 / n of the last one.
    numbers = {step: (first + 1) * ratios[first] / ratio for step, ratio in ratios.items()}
    parts = [share.part * numbers[share.step] for share in shares if np.isfinite(share.part)]
    cumulative = all(near(number, step + 1, 1e-2) for step, number in numbers.items())
    cumulative = cumulative and bool(parts) and all(near(part, 1, 5e-2) for part in parts)
    listed = ", ".join(f"{format_factor(ratio)} x in step {step}" for step, ratio in sorted(ratios.items())[:4])
    kind = ": 1 / n of the n-th batch, a cumulative average (PyTorch's momentum=None)" if cumulative else ""
    return Finding(
        f"The share of a batch that the port's moving statistics take in changes with the steps, beside legacy's "
        f"({listed}){kind}.",
        HIGH if cumulative else MEDIUM,
        f"fitted to the moving means in {counted(len(ratios), 'step')} from equal weights",
    )


def _contradicted_by_variances(facts: MovingStatistics, ratio: float) -> bool:
    """Whether some variance moves by another part than the means, which move by `ratio`."""
    factors = [fit.share.factor for fit in _fits_of(facts, is_variance)]
    return any(abs(factor - ratio) > PART_OF_RATIO * abs(ratio - 1) for factor in factors)


def _fits_of(facts: MovingStatistics, is_kind: Callable[[str], bool]) -> list[ProposalFit]:
    """The fits of all statistics of one kind."""
    return [fit for name, fits in facts.moves.items() if is_kind(name) for fit in fits]


def is_mean(statistic: str) -> bool:
    """Whether a statistic is a moving mean; its name is all that a recording has."""
    return "mean" in statistic.lower()


def is_variance(statistic: str) -> bool:
    """Whether a statistic is a moving variance, by its name."""
    return "var" in statistic.lower()


def _inject_biased(finding: Finding, setup: Setup) -> Change | None:
    """Injects a variance without Bessel's correction; the clean port's has it."""
    return in_batch_norm(make_batch_norm(faulty_batch_norm.biased)) if finding.constants["factor"] < 1 else None


def _inject_momentum(finding: Finding, setup: Setup) -> Change | None:
    if "ratio" not in finding.constants:
        return None
    ratio = finding.constants["ratio"]

    def rule(momentum: float, count: float) -> faulty_batch_norm.MovingRule:
        share, correction = faulty_batch_norm.unbiased(momentum, count)
        return faulty_batch_norm.MovingRule(share * ratio, correction)

    return in_batch_norm(make_batch_norm(rule))


CAUSES = (
    Cause(
        id="BN_BESSEL",
        stage=stages.STATISTICS,
        title="Bessel's correction of the moving variance",
        signature="The moving means agree; the variances that enter have the ratio n / (n - 1), where n = b H W",
        why="The fused kernel stores the unbiased variance, Keras 3 and the unfused layer store the biased one.",
        fix="Multiply the batch variance by n / (n - 1) before it enters the moving variance.",
        criterion=bn_bessel,
        change=_inject_biased,
        faults=(
            Fault(
                "biased_variance",
                in_batch_norm(make_batch_norm(faulty_batch_norm.biased)),
                normalizing,
            ),
        ),
        pitfall="R20",
        by_variable=True,
    ),
    Cause(
        id="BN_DECAY_099_0999",
        stage=stages.STATISTICS,
        title="another momentum of the moving statistics",
        signature="The steps' changes of the statistics have one ratio to legacy's: 10 for 0.99 against 0.999",
        why="The decay of slim and contrib is 0.999, the momentum of tf.layers and Keras is 0.99.",
        fix="Give the port legacy's momentum.",
        criterion=bn_decay_099_0999,
        change=_inject_momentum,
        faults=(
            Fault(
                "momentum_of_another_library",
                in_batch_norm(make_batch_norm(faulty_batch_norm.tenth_of_the_share)),
                normalizing,
            ),
        ),
        pitfall="R21",
        by_variable=True,
    ),
)
