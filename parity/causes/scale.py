"""Causes that multiply every gradient by a number."""

from __future__ import annotations

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, MEDIUM, Cause, Fault, Found
from parity.comparison import stages
from parity.comparison.fits import near
from parity.diagnosis.gradient_factors import factor_names


def number(value):
    """A fitted number as reports print it: 4.000, 0.2500, 1.00001."""
    return f"{value:.4g}" if not near(value, 1.0, 5e-3) else f"{value:.7g}"


def fit_text(totals):
    return f"least-squares fit over {totals.steps} steps from the same state, residual {totals.residual:.1e}"


def different(evidence):
    """The `Totals` if the data's gradient differs by a factor that rounding does not explain, else None."""
    totals = evidence.gradient_factors
    if totals is None or not np.isfinite(totals.total):
        return None
    noise = max(32 * evidence.eps, totals.residual if not totals.replicas_shown else 0.0)
    return totals if abs(totals.total - 1) > noise else None


def _is(totals, evidence, *names):
    names_known = factor_names(totals.total, evidence.replicas, evidence.context.global_batch)
    return any(name in names_known for name in names)


def not_divided(evidence):
    totals = different(evidence)
    if evidence.gradient_factors is None:
        return _summed_at_least(evidence)
    if totals is None or not _is(totals, evidence, "N"):
        return None
    summed = near(totals.reduction, evidence.replicas, 1e-4)
    if not summed and totals.replicas_shown and _is_batch(totals, evidence):
        return None
    if summed:
        because = "each replica's gradients agree and they are summed instead of averaged"
    elif totals.replicas_shown:
        because = "each replica's own gradients are that much larger, and are combined in the same way"
    else:
        because = "worked out from what the optimizer got"
    return Found(
        f"Every gradient is {number(totals.total)} x legacy's, the number of replicas: gradients are summed over the replicas, and the loss "
        "is not divided by the global batch.",
        HIGH if summed or evidence.replicas != 2 else MEDIUM,
        "{}; {}{}".format(
            fit_text(totals), because, "" if summed or evidence.replicas != 2 else "; a factor of 2 in the loss"
        ),
    )


def _summed_at_least(evidence):
    """Gradients cannot be compared, but each side's own reduction can be told: a sum for a mean."""
    left, right = evidence.combined_fits
    if left is None or right is None or right.borrowed or left.first is None or right.first is None:
        return None
    losses = [
        np.nanmean([float(x) for s in evidence.steps for x in getattr(s, side).losses]) for side in ("left", "right")
    ]
    share = near(losses[1] / losses[0], 1 / evidence.replicas, 0.2) if losses[0] else False
    if (left.first.reduce, right.first.reduce) != ("mean", "sum") or left.first in right.fits or share:
        return None
    return Found(
        f"The port sums its replicas' gradients where legacy averages its towers': {evidence.replicas} x.",
        MEDIUM,
        f"each side's combined gradient is explained by its own replicas' in {right.steps} steps; their gradients themselves "
        "cannot be compared",
    )


def _is_batch(totals, evidence):
    """Whether a replica's factor is its number of examples, and its loss says so too."""
    batch = evidence.context.per_replica_batch
    return bool(batch > 1 and near(totals.replica, batch, 1e-4))


def divided_twice(evidence):
    totals = different(evidence)
    if totals is None or not _is(totals, evidence, "1/N"):
        return None
    if near(totals.reduction, 1 / evidence.replicas, 1e-4) and near(totals.replica, 1, 1e-4):
        return None  # averaged where legacy sums: `TOWERS_SUMMED`
    return Found(
        f"Every gradient is {number(totals.total)} x legacy's, one over the number of replicas: the loss is divided by the number of "
        "replicas twice.",
        HIGH if evidence.replicas != 2 else MEDIUM,
        fit_text(totals)
        + _keras(evidence)
        + ("" if evidence.replicas != 2 else "; or a factor of one half in the loss"),
    )


def _keras(evidence):
    version = str(evidence.context.about.get("right", {}).get("keras", ""))
    return f"; Keras {version} loss objects divide by themselves" if version.startswith("3") else ""


def sum_reduction(evidence):
    totals = different(evidence)
    if totals is None or not _is(totals, evidence, "B", "b"):
        return None
    if _is(totals, evidence, "N") and not (totals.replicas_shown and _is_batch(totals, evidence)):
        return None
    which = "the global batch" if _is(totals, evidence, "B") else "the per-replica batch"
    other = [
        name
        for name in factor_names(totals.total, evidence.replicas, evidence.context.global_batch)
        if name not in "Bb"
    ]
    return Found(
        f"Every gradient is {number(totals.total)} x legacy's, {which}: the loss is a sum over examples and not a mean.",
        MEDIUM if other else HIGH,
        fit_text(totals) + ("; the same number is also " + ", ".join(other) if other else ""),
    )


def towers_summed(evidence):
    totals = different(evidence)
    if totals is None or not near(totals.reduction, 1 / evidence.replicas, 1e-4) or not near(totals.replica, 1, 1e-4):
        return None
    return Found(
        f"Legacy sums its towers' gradients and the port averages them: every gradient is {number(totals.total)} x legacy's.",
        HIGH,
        f"{fit_text(totals)}; each side's combined gradients are explained by its own replicas' (legacy: sum, port: mean)",
    )


def gradient_scale(evidence):
    totals = different(evidence)
    if totals is None or factor_names(totals.total, evidence.replicas, evidence.context.global_batch)[:1] in (
        ["N"],
        ["1/N"],
        ["B"],
        ["b"],
    ):
        return None
    if abs(totals.total - 1) < 20 * totals.residual:
        return None  # what is left over is as large: no factor, but noise
    names = factor_names(totals.total, evidence.replicas, evidence.context.global_batch)
    return Found(
        "Every gradient is {:.9g} x legacy's{}: one factor in the loss or in the reduction.".format(
            totals.total, " ({})".format(", ".join(names)) if names else ", no number of replicas or examples"
        ),
        MEDIUM,
        f"{fit_text(totals)}; of it {number(totals.replica)} within a replica and {number(totals.reduction)} in the reduction",
    )


class _Twice(injection.Scaled):
    def _combine(self, context, gradients):
        combined = super()._combine(context, gradients)
        return {name: value * self._job.replicas for name, value in combined.items()}


class DividedToo(injection.Scaled):
    def factor(self):
        return 1.0 / self._job.replicas


class _DividedTwiceSummed(DividedToo):
    summed = True

    def factor(self):
        return 1.0 / self._job.replicas**2


class _SumOfExamples(injection.Scaled):
    def factor(self):
        return float(self._job.per_replica_batch)


class _SumOfExamplesSummed(_SumOfExamples):
    summed = True


class _Slightly(injection.Scaled):
    def factor(self):
        return 1.0 + 1e-4


class Thrice(injection.Scaled):
    def factor(self):
        return 3.0


def _summing(workload):
    return injection.having(combine="sum", clip=None)(workload)


CAUSES = (
    Cause(
        "LOSS_NOT_DIVIDED",
        stages.COMBINED,
        "gradients are summed and the loss is not divided",
        "every gradient is N times legacy's, residual below 1e-5",
        "tf.distribute sums the replicas' gradients. A tower's mean over its own batch, kept as it was, then counts N "
        "times; so does a global_batch_size that is the per-replica batch, and a gradient that is reduced twice.",
        "Divide the loss by the global batch (tf.nn.compute_average_loss(per_example, global_batch_size=B)), divide "
        "the per-replica mean by the number of replicas, or reduce with MEAN.",
        not_divided,
        (
            Fault("sum_for_mean", injection.fields(lambda job: {"combine": "sum"}), injection.no_clip),
            Fault("reduced_twice", injection.step(_Twice), injection.no_clip),
        ),
        "R01",
    ),
    Cause(
        "LOSS_DIVIDED_TWICE",
        stages.GRADIENTS,
        "the loss is divided by the number of replicas twice",
        "every gradient is 1/N of legacy's",
        "Keras 3's loss objects already multiply by 1/N under a strategy, and a MEAN reduction divides too; a manual "
        "division by N on top of either, as Keras 2 needed, makes it twice.",
        "Drop the manual division, or take tf.nn and compute_average_loss instead of a keras.losses object.",
        divided_twice,
        (
            Fault("divided_and_averaged", injection.step(DividedToo), injection.no_clip),
            Fault("divided_twice_and_summed", injection.step(_DividedTwiceSummed), injection.no_clip),
        ),
        "R02",
    ),
    Cause(
        "SUM_REDUCTION",
        stages.GRADIENTS,
        "the loss is a sum over the examples",
        "every gradient is B (or b) times legacy's",
        'A loss with reduction="sum" is not divided by anything.',
        "Divide the sum by the global batch.",
        sum_reduction,
        (
            Fault("sum_over_examples_and_replicas", injection.step(_SumOfExamplesSummed), injection.no_clip),
            Fault("sum_over_examples", injection.step(_SumOfExamples), injection.no_clip),
        ),
        "R03",
    ),
    Cause(
        "TOWERS_SUMMED",
        stages.COMBINED,
        "legacy sums its towers where the port averages",
        "every gradient is 1/N of legacy's; legacy's combined gradient is the sum of its towers'",
        "Some tower code added the gradients and never divided (tf_cnn_benchmarks' replicated mode); its learning rate "
        "was tuned for that.",
        "Reduce with SUM and do not divide the loss, or keep MEAN and multiply the learning rate by N, knowingly.",
        towers_summed,
        (Fault("mean_for_sum", injection.fields(lambda job: {"combine": "mean"}), _summing),),
    ),
    Cause(
        "GRADIENT_SCALE",
        stages.GRADIENTS,
        "every gradient has one more factor",
        "all gradients are one number times legacy's, and it is not N, B or b",
        "A factor in the loss (one half in a squared error, a loss weight), or in the reduction.",
        "Look for that number in the loss and in what scales it.",
        gradient_scale,
        (
            Fault("gradients_a_little_larger", injection.step(_Slightly), injection.no_clip),
            Fault("loss_times_three", injection.step(Thrice), injection.no_clip),
        ),
    ),
)
