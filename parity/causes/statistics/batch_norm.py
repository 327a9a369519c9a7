"""Causes in the moments and the epsilon that batch normalization normalizes with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.statistics import faulty_batch_norm
from parity.causes.statistics.faulty_batch_norm import in_batch_norm, make_batch_norm
from parity.causes.statistics.moving_rules import bn_bessel, bn_decay_099_0999, is_variance
from parity.causes.statistics.moving_statistics import normalizing
from parity.comparison import stages
from parity.comparison.fits import largest
from parity.diagnosis.signatures.passes import compare_passes

if TYPE_CHECKING:
    from parity.causes.basics.injection import Change
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.facts.moving_statistics import MovingStatistics

#: Another epsilon moves at least this part of later variances in one direction, and means and variances by at most
#: `MOST_SHIFT` of them.
ONE_DIRECTION, MOST_SHIFT = 0.9, 0.3

#: Replicas, or sides, propose the same moments if they differ by at most this part.
SAME_MOMENTS = 1e-4


def sync_bn_on(evidence: Evidence) -> Finding | None:
    """Recognizes SYNC_BN_ON: all of the port's replicas propose the global batch's moments."""
    facts = evidence.statistics
    if facts is None or facts.borrowed:
        return None
    legacy_gap, port_gap = facts.alike
    if not port_gap <= SAME_MOMENTS or not legacy_gap > 1e-3 or not facts.global_mean <= SAME_MOMENTS:
        return None
    return Finding(
        "The port's replicas normalize with the moments of the global batch, each of legacy's towers with those of its "
        "own batch.",
        HIGH,
        f"all replicas propose the same moments (gap {port_gap:.1e}; legacy's towers {legacy_gap:.1e}), and the first "
        f"layer's mean is the mean of legacy's ({facts.global_mean:.1e})",
    )


def bn_epsilon(evidence: Evidence) -> Finding | None:
    """Recognizes BN_EPSILON: the first normalization's moments agree and those of later ones do not."""
    facts = evidence.statistics
    if facts is None or facts.borrowed or not facts.gaps:
        return None
    if bn_bessel(evidence) or bn_decay_099_0999(evidence) or sync_bn_on(evidence):
        return None
    equal = [name for name, gap in facts.gaps.items() if gap <= 10 * evidence.eps]
    unequal = [name for name, gap in facts.gaps.items() if gap > 1000 * evidence.eps]
    if not equal or not unequal or any(not batch.same for batch in evidence.batches):
        return None
    passes = compare_passes(evidence)
    if _is_momentum(facts, unequal) or not _all_shrink_or_grow(facts, unequal):
        return None
    if passes is not None and passes.losses_agree:
        return None  # these statistics are no part of the loss
    layer = f"The first batch normalization ({min(equal).rsplit('/', 1)[0]})"
    if passes is not None and len(passes.equal_norms) > 1:
        layer = f"The batch normalization {passes.equal_norms[-1]}"
    return Finding(
        f"{layer} sees the same moments on both sides and the layers after it do not: its epsilon, scale or offset "
        "differs.",
        MEDIUM,
        f"largest gap of its proposals {max(facts.gaps[name] for name in equal):.1e}; of {len(unequal)} later ones up "
        f"to {max(facts.gaps.values()):.1e}",
    )


def _is_momentum(facts: MovingStatistics, names: Sequence[str]) -> bool:
    """Whether the proposals are legacy's with another share of the batch, as one layer's own momentum makes them."""
    fits = [fit.share for name in names for fit in facts.moves.get(name, ())]
    return bool(fits) and largest(fit.residual for fit in fits) <= 1e-3


def _all_shrink_or_grow(facts: MovingStatistics, names: Sequence[str]) -> bool:
    """Whether the variances of the later layers nearly all shrink, or all grow, by a small part, as epsilon makes them.

    A larger epsilon makes every channel's output smaller, by at most epsilon over twice its variance. Another padding
    or stride moves single variances either way, and further; another pooling moves the means further.
    """
    variances = [name for name in names if is_variance(name) and name in facts.smaller]
    if not variances:
        return True  # not known
    smaller = float(np.mean([facts.smaller[name] for name in variances]))
    return max(smaller, 1 - smaller) >= ONE_DIRECTION and max(facts.gaps[name] for name in names) <= MOST_SHIFT


def _inject_global_moments(finding: Finding, setup: Setup) -> Change:
    return in_batch_norm(make_batch_norm(faulty_batch_norm.unbiased, faulty_batch_norm.normalize_globally))


CAUSES = (
    Cause(
        id="BN_EPSILON",
        stage=stages.LOSS,
        title="batch normalization's epsilon",
        signature="The first normalization's moments agree; everything after it differs by 1e-5 to 1e-2",
        why="The default epsilon is 1e-3 in tf.layers, slim and Keras, and 1e-5 in PyTorch and in papers; slim has no "
        "scale.",
        fix="Give the port legacy's epsilon, and its scale and offset.",
        criterion=bn_epsilon,
        faults=(
            Fault(
                "norm_epsilon_of_another_library",
                in_batch_norm(faulty_batch_norm.larger_epsilon),
                normalizing,
            ),
        ),
    ),
    Cause(
        id="SYNC_BN_ON",
        stage=stages.LOSS,
        title="batch normalization is synchronized",
        signature="The first loss differs though the weights are equal, and all replicas propose the moments of the "
        "global batch",
        why="synchronized=True (or SyncBatchNormalization) computes moments over all replicas; towers never did.",
        fix="Use synchronized=False for parity.",
        criterion=sync_bn_on,
        change=_inject_global_moments,
        faults=(
            Fault(
                "synchronized_moments",
                in_batch_norm(make_batch_norm(faulty_batch_norm.unbiased, faulty_batch_norm.normalize_globally)),
                normalizing,
            ),
        ),
        pitfall="R23",
    ),
)
