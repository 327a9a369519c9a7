"""Cause: the moving variance is kept as a function of the variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor
from parity.causes.statistics import faulty_batch_norm
from parity.causes.statistics.moving_statistics import normalizing
from parity.comparison import stages
from parity.diagnosis.signatures.variance_transform import fit_variance_transform
from workloads import layers
from workloads.numerics import normalization

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from workloads.scope import Scope


def moving_deviation(evidence: Evidence) -> Finding | None:
    """Recognizes MOVING_DEVIATION: the port's moving variances average a function of legacy's batch variance."""
    found = fit_variance_transform(evidence)
    if found is None:
        return None
    return Finding(
        f"The port's moving variance takes in the {found.name} of a batch, and legacy's its variance.",
        HIGH,
        f"fitted to {len(found.statistics)} statistics with a share of {format_factor(found.share)} of a batch, "
        f"residual {found.residual:.1e}",
        {"function": found.name, "share": found.share},
        variables=found.statistics,
    )


def keep_deviation(scope: Scope, x: tf.Tensor, momentum: float = 0.9, epsilon: float = 1e-5) -> tf.Tensor:
    """Normalizes as `layers.batch_norm` and keeps the standard deviation in the place of the variance.

    Args:
      scope, x, momentum, epsilon: as for `layers.batch_norm`.

    Returns:
      `x` normalized, of the same shape.
    """
    channels = int(x.shape[-1])
    gamma, beta = scope.get("gamma", (channels,), layers.ONES), scope.get("beta", (channels,), layers.ZEROS)
    means = scope.get("moving_mean", (channels,), layers.ZEROS, trainable=False)
    deviations = scope.get("moving_variance", (channels,), layers.ONES, trainable=False)
    normalized = normalization.batch_normalize(x, gamma, beta, epsilon)
    scope.update("moving_mean", means - (means - normalized.mean) * (1.0 - momentum))
    scope.update("moving_variance", deviations - (deviations - tf.sqrt(normalized.variance)) * (1.0 - momentum))
    return normalized.values


CAUSES = (
    Cause(
        id="MOVING_DEVIATION",
        stage=stages.STATISTICS,
        title="the moving variance is kept as a deviation",
        signature="The moving means agree; the moving variances average the square root of legacy's batch variances",
        why="A library that stores the standard deviation, or its reciprocal, under a name that reads like a variance.",
        fix="Square it when statistics are compared or converted, and keep the variance in the port.",
        criterion=moving_deviation,
        faults=(Fault("deviation_for_variance", faulty_batch_norm.in_batch_norm(keep_deviation), normalizing),),
    ),
)
