"""Causes that multiply every gradient by one number: a mean for legacy's sum, or a factor in loss or reduction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import describe_fit, format_factor
from parity.causes.combining.total_factor import (
    averaged_for_sum,
    factor_constants,
    inject_factors,
    names_of_factor,
    scaled_totals,
)
from parity.comparison import stages

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload


def towers_summed(evidence: Evidence) -> Finding | None:
    """Recognizes TOWERS_SUMMED: the replicas' gradients agree and the reduction's factor is 1/N."""
    totals = scaled_totals(evidence)
    if totals is None or not averaged_for_sum(totals, evidence):
        return None
    return Finding(
        "Legacy sums its towers' gradients and the port averages them: every gradient is "
        f"{format_factor(totals.total)} x legacy's.",
        HIGH,
        f"{describe_fit(totals)}; each side's combined gradients are explained by its own replicas' (legacy: sum, "
        "port: mean)",
        factor_constants(totals, evidence),
    )


def gradient_scale(evidence: Evidence) -> Finding | None:
    """Recognizes GRADIENT_SCALE: the factor is none of N, 1/N, B and b."""
    totals = scaled_totals(evidence)
    if totals is None:
        return None
    names = names_of_factor(totals, evidence)
    if not totals.total or names[:1] in (["N"], ["1/N"], ["B"], ["b"]):
        return None
    if abs(totals.total - 1) < 20 * totals.residual:
        return None  # the residual is as large as the difference: noise, not a factor
    known_as = f" ({', '.join(names)})" if names else ", no number of replicas or examples"
    return Finding(
        f"Every gradient is {totals.total:.9g} x legacy's{known_as}: one factor in the loss or in the reduction.",
        MEDIUM,
        f"{describe_fit(totals)}; of it {format_factor(totals.replica)} within a replica and "
        f"{format_factor(totals.reduction)} in the reduction",
        factor_constants(totals, evidence),
    )


class _SlightlyLarger(injection.ScaledStep):
    """Multiplies the loss by 1.0001."""

    def factor(self) -> float:
        return 1.0 + 1e-4


class _LargerInEveryFifthStep(injection.ScaledStep):
    """Multiplies the gradients by 1.04 in steps 4, 9, 14 ..."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        import tensorflow as tf

        found = super()._forward_backward(local, step, replica, batch)
        acts = tf.equal(tf.math.floormod(step, 5), 4)
        return found._replace(gradients={name: tf.where(acts, 1.04 * g, g) for name, g in found.gradients.items()})


class TimesThree(injection.ScaledStep):
    """Multiplies the loss by 3."""

    def factor(self) -> float:
        return 3.0


def _summing(workload: Workload) -> Workload:
    return injection.with_fields(combine="sum", clip=None)(workload)


CAUSES = (
    Cause(
        id="TOWERS_SUMMED",
        stage=stages.COMBINED,
        title="legacy sums its towers where the port averages",
        signature="Every gradient is 1/N of legacy's, and legacy's combined gradient is the sum of its towers'",
        why="Some tower code added the gradients and never divided (the replicated mode of tf_cnn_benchmarks); its "
        "learning rate was tuned for that.",
        fix="Reduce with SUM and do not divide the loss; or keep MEAN and multiply the learning rate by N, knowing "
        "that the gradients differ.",
        criterion=towers_summed,
        change=inject_factors,
        faults=(Fault("mean_for_sum", injection.in_workload(lambda job: {"combine": "mean"}), _summing),),
    ),
    Cause(
        id="GRADIENT_SCALE",
        stage=stages.GRADIENTS,
        title="every gradient has one more factor",
        signature="All gradients are one number times legacy's, and it is not N, 1/N, B or b",
        why="A factor in the loss (one half in a squared error, a loss weight), or in the reduction.",
        fix="Look for that number in the loss and in its factors.",
        criterion=gradient_scale,
        change=inject_factors,
        faults=(
            Fault("gradients_a_little_larger", injection.in_replica_step(_SlightlyLarger), injection.without_clip),
            Fault(
                "larger_gradients_in_every_fifth_step",
                injection.in_replica_step(_LargerInEveryFifthStep),
                injection.without_clip,
            ),
            Fault("loss_times_three", injection.in_replica_step(TimesThree), injection.without_clip),
        ),
    ),
)
