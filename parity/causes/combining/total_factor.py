"""The factor that all gradients share: whether rounding explains it, the job's numbers that it equals, its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import Finding
from parity.causes.basics.gradient_changes import scaled_gradients
from parity.causes.basics.loss_fit import fit_loss
from parity.comparison.fits import near
from parity.diagnosis.gradient_factors import factor_names

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.gradient_factors import GradientFactors


def scaled_totals(evidence: Evidence) -> GradientFactors | None:
    """Returns the `GradientFactors` if the data's gradient has a factor that rounding does not explain, else None."""
    totals = evidence.gradient_factors
    if totals is None or not np.isfinite(totals.total):
        return None
    noise = max(32 * evidence.eps, totals.residual if not totals.replicas_shown else 0.0)
    return totals if abs(totals.total - 1) > noise else None


def names_of_factor(totals: GradientFactors, evidence: Evidence) -> list[str]:
    """Returns the names of the whole factor among the job's numbers: "N", "1/N", "B", "b" and others."""
    return factor_names(totals.total, evidence.replicas, evidence.context.global_batch)


def is_per_replica_batch(totals: GradientFactors, evidence: Evidence) -> bool:
    """Returns whether the factor within a replica is its number of examples."""
    batch = evidence.context.per_replica_batch
    return bool(batch > 1 and near(totals.replica, batch, 1e-4))


def averaged_for_sum(totals: GradientFactors, evidence: Evidence) -> bool:
    """Returns whether the port averages equal replica gradients that legacy sums."""
    return near(totals.reduction, 1 / evidence.replicas, 1e-4) and near(totals.replica, 1, 1e-4)


def factor_constants(totals: GradientFactors, evidence: Evidence) -> dict[str, float]:
    """Returns the factors within a replica, in the reduction and of the loss, for `inject_factors`."""
    known = totals.replicas_shown
    replica, reduction = (totals.replica, totals.reduction) if known else (1.0, totals.total)
    loss = fit_loss(evidence, [replica, totals.total], totals.decay).factor
    return {"replica": replica, "reduction": reduction, "loss": loss}


def inject_factors(finding: Finding, setup: Setup) -> injection.Change:
    """Injects the finding's factors: a sum for a mean, or a mean for a sum, as itself, and other factors as numbers."""
    constants, replicas, combine = finding.constants, setup.job.replicas, setup.job.workload.combine
    reduction, changed = constants["reduction"], injection.Change()

    def in_workload(how: str) -> injection.Change:
        return injection.in_workload(lambda job: {"combine": how})

    for other, factor in (("sum", replicas), ("mean", 1 / replicas)):
        if combine != other and near(reduction, factor, 1e-4):
            reduction, changed = 1.0, in_workload(other)
    return changed + scaled_gradients(constants["replica"], reduction, constants["loss"])
