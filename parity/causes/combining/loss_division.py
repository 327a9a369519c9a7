"""Causes in the division of the loss: not by the number of replicas, by it twice, or not by that of the examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import describe_fit, format_factor
from parity.causes.combining.shares import averages_become_sums, share_of_replicas
from parity.causes.combining.total_factor import (
    averaged_for_sum,
    factor_constants,
    inject_factors,
    is_per_replica_batch,
    names_of_factor,
    scaled_totals,
)
from parity.comparison import stages
from parity.comparison.fits import near
from workloads.support.wording import counted

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.step.step_tensors import Tensors
    from parity.diagnosis.evidence import Evidence


def loss_not_divided(evidence: Evidence) -> Finding | None:
    """Recognizes LOSS_NOT_DIVIDED: the factor is N."""
    if evidence.gradient_factors is None:
        return _mean_became_sum(evidence)
    totals = scaled_totals(evidence)
    if totals is None or "N" not in names_of_factor(totals, evidence):
        return None
    summed = near(totals.reduction, evidence.replicas, 1e-4)
    if not summed and totals.replicas_shown and is_per_replica_batch(totals, evidence):
        return None  # `SUM_REDUCTION`
    if summed:
        because = "each replica's gradients agree and they are summed instead of averaged"
    elif totals.replicas_shown:
        because = "each replica's own gradients are that much larger, and are combined in the same way"
    else:
        because = "computed from the combined gradients"
    unique = summed or evidence.replicas != 2
    return Finding(
        f"Every gradient is {format_factor(totals.total)} x legacy's, the number of replicas: gradients are summed "
        "over the replicas, and the loss is not divided by the global batch.",
        HIGH if unique else MEDIUM,
        f"{describe_fit(totals)}; {because}" + ("" if unique else "; a factor of 2 in the loss would look the same"),
        factor_constants(totals, evidence),
        ambiguous=not unique,
    )


def _mean_became_sum(evidence: Evidence) -> Finding | None:
    """Recognizes a sum in place of a mean from each side's own reduction, where gradients cannot be compared."""
    right = evidence.combined_fits[1]
    if right is None or not averages_become_sums(evidence) or share_of_replicas(evidence) is not None:
        return None  # where each replica's loss is a share of the global one, the shares are to be summed
    return Finding(
        f"The port sums its replicas' gradients where legacy averages its towers': {evidence.replicas} x.",
        MEDIUM,
        f"each side's combined gradient is explained by its own replicas' in {counted(right.steps, 'step')}; their "
        "gradients themselves cannot be compared",
        {"replica": 1.0, "reduction": float(evidence.replicas), "loss": 1.0},
    )


def loss_divided_twice(evidence: Evidence) -> Finding | None:
    """Recognizes LOSS_DIVIDED_TWICE: the factor is 1/N."""
    totals = scaled_totals(evidence)
    if totals is None or "1/N" not in names_of_factor(totals, evidence) or averaged_for_sum(totals, evidence):
        return None
    unique = evidence.replicas != 2
    return Finding(
        f"Every gradient is {format_factor(totals.total)} x legacy's, one over the number of replicas: the loss is "
        "divided by the number of replicas twice.",
        HIGH if unique else MEDIUM,
        describe_fit(totals) + _keras(evidence) + ("" if unique else "; or a factor of one half in the loss"),
        factor_constants(totals, evidence),
        ambiguous=not unique,
    )


def _keras(evidence: Evidence) -> str:
    version = str(evidence.context.about.get("right", {}).get("keras", ""))
    return f"; Keras {version} loss objects divide by themselves" if version.startswith("3") else ""


def sum_reduction(evidence: Evidence) -> Finding | None:
    """Recognizes SUM_REDUCTION: the factor is B or b."""
    totals = scaled_totals(evidence)
    if totals is None:
        return None
    names = names_of_factor(totals, evidence)
    if "B" not in names and "b" not in names:
        return None
    if "N" in names and not (totals.replicas_shown and is_per_replica_batch(totals, evidence)):
        return None
    batch = "the global batch" if "B" in names else "the per-replica batch"
    other = [name for name in names if name not in "Bb"]
    return Finding(
        f"Every gradient is {format_factor(totals.total)} x legacy's, {batch}: the loss is a sum over examples and not "
        "a mean.",
        MEDIUM if other else HIGH,
        describe_fit(totals) + ("; the same number is also " + ", ".join(other) if other else ""),
        factor_constants(totals, evidence),
        ambiguous=bool(other),
    )


class _SummedTwice(injection.ScaledStep):
    """Multiplies the combined gradients by N: reduced twice."""

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        combined = super()._combine(context, gradients)
        return {name: value * self._job.replicas for name, value in combined.items()}


class DividedByReplicas(injection.ScaledStep):
    """Divides each replica's loss by N, before gradients are averaged."""

    def factor(self) -> float:
        return 1.0 / self._job.replicas


class _DividedTwiceAndSummed(injection.ScaledStep):
    """Divides each replica's loss by N^2, before gradients are summed."""

    summed = True

    def factor(self) -> float:
        return 1.0 / self._job.replicas**2


class _SumOverExamples(injection.ScaledStep):
    """Replaces each replica's mean loss by its sum, before gradients are averaged."""

    def factor(self) -> float:
        return float(self._job.per_replica_batch)


class _SumOverAllExamples(_SumOverExamples):
    """Replaces each replica's mean loss by its sum, before gradients are summed."""

    summed = True


CAUSES = (
    Cause(
        id="LOSS_NOT_DIVIDED",
        stage=stages.COMBINED,
        covers=(stages.LOSS, stages.GRADIENTS, stages.COMBINED),
        title="gradients are summed and the loss is not divided",
        signature="Every gradient is N times legacy's, with a residual below 1e-5",
        why="tf.distribute sums the replicas' gradients. A tower's loss that is still the mean over its own batch then "
        "counts N times. So does a global_batch_size that is really the per-replica batch, and a gradient that is "
        "reduced twice.",
        fix="Divide the loss by the global batch (tf.nn.compute_average_loss(per_example, global_batch_size=B)), "
        "divide the per-replica mean by the number of replicas, or reduce with MEAN.",
        criterion=loss_not_divided,
        change=inject_factors,
        faults=(
            Fault("sum_for_mean", injection.in_workload(lambda job: {"combine": "sum"}), injection.without_clip),
            Fault("reduced_twice", injection.in_replica_step(_SummedTwice), injection.without_clip),
        ),
        pitfall="R01",
    ),
    Cause(
        id="LOSS_DIVIDED_TWICE",
        stage=stages.GRADIENTS,
        title="the loss is divided by the number of replicas twice",
        signature="Every gradient is 1/N of legacy's",
        why="Keras 3's loss objects already multiply by 1/N under a strategy, and a MEAN reduction divides by N too. A "
        "division by N in the program, which Keras 2 needed, then divides a second time.",
        fix="Drop the division in the program, or use tf.nn functions and compute_average_loss instead of a "
        "keras.losses object.",
        criterion=loss_divided_twice,
        change=inject_factors,
        faults=(
            Fault("divided_and_averaged", injection.in_replica_step(DividedByReplicas), injection.without_clip),
            Fault(
                "divided_twice_and_summed", injection.in_replica_step(_DividedTwiceAndSummed), injection.without_clip
            ),
        ),
        pitfall="R02",
    ),
    Cause(
        id="SUM_REDUCTION",
        stage=stages.GRADIENTS,
        title="the loss is a sum over the examples",
        signature="Every gradient is B (or b) times legacy's",
        why='A loss with reduction="sum" is not divided by the number of examples.',
        fix="Divide the sum by the global batch.",
        criterion=sum_reduction,
        change=inject_factors,
        faults=(
            Fault(
                "sum_over_examples_and_replicas", injection.in_replica_step(_SumOverAllExamples), injection.without_clip
            ),
            Fault("sum_over_examples", injection.in_replica_step(_SumOverExamples), injection.without_clip),
        ),
        pitfall="R03",
    ),
)
