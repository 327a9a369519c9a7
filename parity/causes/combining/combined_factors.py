"""Causes that multiply the gradients of some weights, or of some replicas, by a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.gradient_changes import scaled_combined
from parity.causes.basics.wording import format_factor, shortest_decimal
from parity.comparison import stages
from parity.comparison.fits import FactorFit, fit_factor, near, spread
from parity.diagnosis.localization.extents import find_extents
from parity.diagnosis.signatures.stage_values import StageRow, stage_rows
from workloads.support.wording import counted

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence

#: A factor is the same in all steps, and differs from 1, by at least this part.
SAME_FACTOR = 1e-4


def combined_partly_scaled(evidence: Evidence) -> Finding | None:
    """Recognizes COMBINED_PARTLY_SCALED: the combined gradients of some weights are a number times the replicas'."""
    extent = find_extents(evidence).combined
    rows = [row for row in stage_rows(evidence)[stages.COMBINED] if row.step in extent.steps]
    factors = {name: _common_factor(rows, name, evidence.clean_residual) for name in extent.names}
    if not factors or not extent.in_some_variables or not np.all(np.isfinite(list(factors.values()))):
        return None
    listed = ", ".join(f"{name} {format_factor(factor)} x" for name, factor in list(factors.items())[:4])
    return Finding(
        f"The combined gradients of {counted(len(factors), 'weight')} are a constant times the combination "
        f"of the port's replicas' gradients ({listed}); the others are combined as in legacy.",
        HIGH,
        f"weight by weight, the same factor in {counted(len(rows), 'step')}",
        {"factors": tuple((name, shortest_decimal(factor, SAME_FACTOR)) for name, factor in factors.items())},
        variables=tuple(factors),
        steps=tuple(extent.steps) if extent.in_some_steps else (),
        confined=extent.in_some_steps,
    )


def _common_factor(rows: list[StageRow], name: str, most: float) -> float:
    """The ratio of a variable's actual to its expected value if all rows have the same one, else NaN."""
    fits = [
        fit_factor(np.asarray(row.expected[name], np.float64).ravel(), np.asarray(row.actual[name], np.float64).ravel())
        for row in rows
        if name in row.expected
    ]
    return _one_factor(fits, most)


def _one_factor(fits: list[FactorFit], most: float) -> float:
    factors = [fit.factor for fit in fits]
    clean = bool(fits) and all(fit.residual <= most for fit in fits) and spread(factors) <= SAME_FACTOR
    return float(np.median(factors)) if clean else float("nan")


def replica_scaled(evidence: Evidence) -> Finding | None:
    """Recognizes REPLICA_SCALED: each replica's gradients have one factor, and the replicas' factors differ."""
    replicas = sorted({entry.replica for entry in evidence.gradients})
    if len(replicas) < 2:
        return None
    factors = {
        replica: _one_factor([e.fit for e in evidence.gradients if e.replica == replica], 4 * evidence.clean_residual)
        for replica in replicas
    }
    if not spread(factors.values()) > SAME_FACTOR or not np.all(np.isfinite(list(factors.values()))):
        return None
    scaled = {replica: factor for replica, factor in factors.items() if not near(factor, 1, SAME_FACTOR)}
    if any(factor == 0 for factor in scaled.values()):
        return None
    listed = ", ".join(f"replica {replica} {format_factor(factor)} x" for replica, factor in scaled.items())
    return Finding(
        f"The gradients of {len(scaled)} of the port's {len(replicas)} replicas are a number times legacy's "
        f"({listed}): replicas weight their losses differently.",
        HIGH,
        "replica by replica, one factor of all weights in every step from the same state",
        {"factors": tuple(factors.values())},
    )


def _inject_combined(finding: Finding, setup: Setup) -> injection.Change:
    return scaled_combined(dict(finding.constants["factors"]))


class _FirstCombinedNegated(ReplicaStep):
    """Negates the first weight's combined gradient."""

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        combined = super()._combine(context, gradients)
        name = next(iter(combined))
        return {**combined, name: -combined[name]}


class _LastReplicaHeavier(injection.ScaledStep):
    """Multiplies the last replica's loss by 1.25."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        found = super()._forward_backward(local, step, replica, batch)
        factor = 1.25 if replica == self._job.replicas - 1 else 1.0
        return found._replace(
            loss=found.loss * factor, gradients={name: value * factor for name, value in found.gradients.items()}
        )


CAUSES = (
    Cause(
        id="COMBINED_PARTLY_SCALED",
        stage=stages.COMBINED,
        title="some combined gradients have a factor",
        signature="Each replica's gradients agree; the combined gradients of some weights are a constant "
        "times the combination of the replicas'",
        why="Gradients are scaled, or their sign is reversed, between the all-reduce and the optimizer: multipliers of "
        "layers, a sum for some variables and a mean for others.",
        fix="Combine all gradients alike.",
        criterion=combined_partly_scaled,
        change=_inject_combined,
        faults=(
            Fault("one_gradient_negated", injection.in_replica_step(_FirstCombinedNegated), injection.without_clip),
        ),
        by_step=False,
    ),
    Cause(
        id="REPLICA_SCALED",
        stage=stages.GRADIENTS,
        title="replicas weight their losses differently",
        signature="Every replica's gradients are one number times legacy's, not the same for all replicas",
        why="Each replica divides its loss by its own number of examples, masks or weights, where legacy divides by "
        "one number.",
        fix="Divide every replica's loss by the same number.",
        criterion=replica_scaled,
        faults=(Fault("last_replica_heavier", injection.in_replica_step(_LastReplicaHeavier), injection.without_clip),),
    ),
)
