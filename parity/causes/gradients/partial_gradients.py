"""Causes that change the gradients of some weights, or of some replicas, only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.gradient_changes import partly_scaled_gradients, weighted_reduction
from parity.causes.basics.wording import format_factor
from parity.comparison import stages
from parity.comparison.fits import largest, near, spread
from workloads.support.wording import counted

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.comparison.setup import Setup
    from parity.diagnosis.combined_gradients import CombinedFit
    from parity.diagnosis.evidence import Evidence

#: A share below this is none.
NO_SHARE = 1e-3


def gradient_missing(evidence: Evidence) -> Finding | None:
    """Recognizes GRADIENT_MISSING: the factor of some weights is 0."""
    factors = _factors_by_weight(evidence)
    zero = [name for name, values in factors.items() if not any(values)]
    if not zero or len(zero) == len(factors):
        return None
    return Finding(
        f"{counted(len(zero), 'weight gets', 'weights get')} no gradient in the port ({', '.join(sorted(zero)[:3])}), "
        "but in legacy.",
        HIGH,
        "exactly zero in every replica and step from the same state",
        {"factor": 0.0},
        variables=tuple(sorted(zero)),
    )


def gradient_partly_scaled(evidence: Evidence) -> Finding | None:
    """Recognizes GRADIENT_PARTLY_SCALED: some weights share a factor that is neither 0 nor 1."""
    factors = _factors_by_weight(evidence)
    scaled = {name: values[0] for name, values in factors.items() if not near(values[0], 1, 1e-4) and any(values)}
    if not scaled or len(scaled) == len(factors) or spread(scaled.values()) > 1e-3:
        return None
    name, factor = sorted(scaled.items())[0]
    return Finding(
        f"The gradients of {len(scaled)} of {len(factors)} weights are {format_factor(factor)} x legacy's, the others "
        f"agree ({name}).",
        HIGH,
        "weight by weight, one factor in every replica and step from the same state",
        {"factor": factor},
        variables=tuple(sorted(scaled)),
    )


def _factors_by_weight(evidence: Evidence) -> dict[str, list[float]]:
    """Returns {weight: its factor in each replica and step} if every weight has one clean factor, else {}."""
    entries = [entry for entry in evidence.gradients if entry.tensors]
    if not entries or evidence.gradient_factors is not None:
        return {}
    factors: dict[str, list[float]] = {}
    for entry in entries:
        for name, fit in entry.tensors.items():
            if not np.isfinite(fit.factor):
                continue
            if fit.residual > 4 * evidence.clean_residual and fit.factor != 0:
                return {}
            factors.setdefault(name, []).append(fit.factor)
    return {name: values for name, values in factors.items() if spread(values) < 1e-3}


def replica_left_out(evidence: Evidence) -> Finding | None:
    """Recognizes REPLICA_LEFT_OUT: the combined gradient is a weighted sum with some weights zero, on either side."""
    left, right = evidence.combined_fits
    return _left_out(right, "the port") or _left_out(left, "legacy")


def _left_out(side: CombinedFit | None, who: str) -> Finding | None:
    if side is None or side.first is not None or side.borrowed or len(side.coefficients[0].coefficients) < 2:
        return None
    rows = np.array([fit.coefficients for fit in side.coefficients])
    residual = largest(fit.residual for fit in side.coefficients)
    if residual > side.noise or np.max(np.ptp(rows, axis=0)) > 1e-3:
        return None
    shares = rows.mean(axis=0)
    missing = [replica for replica, share in enumerate(shares) if abs(share) < NO_SHARE]
    if not missing or len(missing) == len(shares):
        return None
    replicas = ("replicas " if len(missing) > 1 else "replica ") + ", ".join(map(str, missing))
    others = ", ".join(format_factor(share) for share in shares if abs(share) >= NO_SHARE)
    return Finding(
        f"In {who} the gradients of {replicas} never reach the update; the others count {others}.",
        HIGH,
        f"the combined gradient is a sum of the replicas' with these weights, residual {residual:.1e}",
        {"shares": tuple(map(float, shares)), "side": who},
    )


def _inject_factor(finding: Finding, setup: Setup) -> injection.Change:
    return partly_scaled_gradients({name: finding.constants["factor"] for name in finding.variables})


def _inject_shares(finding: Finding, setup: Setup) -> injection.Change:
    return weighted_reduction(finding.constants["shares"])


class _FirstWeightDoubled(injection.ScaledStep):
    """Doubles the first weight's gradient."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        found = super()._forward_backward(local, step, replica, batch)
        gradients = found.gradients
        name = next(iter(gradients))
        return found._replace(gradients={**gradients, name: gradients[name] * 2.0})


class _FirstWeightStopped(injection.ScaledStep):
    """Sets the first weight's gradient to zero."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        found = super()._forward_backward(local, step, replica, batch)
        gradients = found.gradients
        name = next(iter(gradients))
        return found._replace(gradients={**gradients, name: gradients[name] * 0.0})


class _FirstReplicaOnly(injection.ScaledStep):
    """Gives the optimizer the first replica's gradients only."""

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        from modern.collectives import exchange

        return dict(zip(gradients, exchange.from_first(context, list(gradients.values()))))


CAUSES = (
    Cause(
        id="GRADIENT_MISSING",
        stage=stages.GRADIENTS,
        title="some weights get no gradient",
        signature="The gradients of some weights are zero, those of the others agree",
        why="A stop_gradient, a variable that is read outside the tape, or a layer that is not trainable.",
        fix="Compute the loss from the variables themselves, inside the tape.",
        criterion=gradient_missing,
        change=_inject_factor,
        faults=(Fault("first_weights_gradient_stopped", injection.in_replica_step(_FirstWeightStopped)),),
    ),
    Cause(
        id="GRADIENT_PARTLY_SCALED",
        stage=stages.GRADIENTS,
        title="some weights' gradients have a factor",
        signature="The gradients of some weights are one number times legacy's, those of the others agree",
        why="A gradient multiplier for some layers (slim's, or a custom gradient), or a weight that is used twice.",
        fix="Give the port legacy's gradient multipliers.",
        criterion=gradient_partly_scaled,
        change=_inject_factor,
        faults=(Fault("first_weights_gradient_doubled", injection.in_replica_step(_FirstWeightDoubled)),),
    ),
    Cause(
        id="REPLICA_LEFT_OUT",
        stage=stages.COMBINED,
        title="some replicas' gradients never reach the update",
        signature="The combined gradient is a weighted sum of the replicas' gradients with some weights zero",
        why="A combining step that overwrites instead of adding, or an update that reads one replica's gradient.",
        fix="Reduce over all replicas: replica_context.all_reduce, or merge_call with extended.reduce_to.",
        criterion=replica_left_out,
        change=_inject_shares,
        faults=(
            Fault(
                "only_the_first_replicas_gradients",
                injection.in_replica_step(_FirstReplicaOnly),
                injection.without_clip,
            ),
        ),
    ),
)
