"""Causes that multiply gradients or losses by a number."""

from __future__ import annotations

import numpy as np

from parity import stages
from parity.causes import planting
from parity.causes.cause import HIGH, MEDIUM, Cause, Fault, Found
from parity.diagnosis.fits import near, spread
from parity.diagnosis.totals import known
from workloads import optimizers


def number(value):
    """A fitted number as reports print it: 4.000, 0.2500, 1.00001."""
    return "{:.4g}".format(value) if not near(value, 1.0, 5e-3) else "{:.7g}".format(value)


def _fit(totals):
    return "least-squares fit over {} steps from the same state, residual {:.1e}".format(totals.steps, totals.residual)


def different(evidence):
    """The `Totals` if the data's gradient differs by a factor that rounding does not explain, else None."""
    totals = evidence.totals
    if totals is None or not np.isfinite(totals.all):
        return None
    noise = max(32 * evidence.eps, totals.residual if not totals.replicas_shown else 0.0)
    return totals if abs(totals.all - 1) > noise else None


def _is(totals, evidence, *names):
    names_known = known(totals.all, evidence.replicas, evidence.context.global_batch)
    return any(name in names_known for name in names)


def not_divided(evidence):
    totals = different(evidence)
    if evidence.totals is None:
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
        "Every gradient is {} x legacy's, the number of replicas: gradients are summed over the replicas, and the loss "
        "is not divided by the global batch.".format(number(totals.all)),
        HIGH if summed or evidence.replicas != 2 else MEDIUM,
        "{}; {}{}".format(
            _fit(totals), because, "" if summed or evidence.replicas != 2 else "; a factor of 2 in the loss"
        ),
    )


def _summed_at_least(evidence):
    """Gradients cannot be compared, but each side's own reduction can be told: a sum for a mean."""
    left, right = evidence.combining
    if left is None or right is None or right.borrowed or left.first is None or right.first is None:
        return None
    losses = [
        np.nanmean([float(x) for s in evidence.steps for x in getattr(s, side).losses]) for side in ("left", "right")
    ]
    share = near(losses[1] / losses[0], 1 / evidence.replicas, 0.2) if losses[0] else False
    if (left.first.reduce, right.first.reduce) != ("mean", "sum") or left.first in right.fits or share:
        return None
    return Found(
        "The port sums its replicas' gradients where legacy averages its towers': {} x.".format(evidence.replicas),
        MEDIUM,
        "each side's combined gradient is explained by its own replicas' in {} steps; their gradients themselves "
        "cannot be compared".format(right.steps),
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
        "Every gradient is {} x legacy's, one over the number of replicas: the loss is divided by the number of "
        "replicas twice.".format(number(totals.all)),
        HIGH if evidence.replicas != 2 else MEDIUM,
        _fit(totals) + _keras(evidence) + ("" if evidence.replicas != 2 else "; or a factor of one half in the loss"),
    )


def _keras(evidence):
    version = str(evidence.context.about.get("right", {}).get("keras", ""))
    return "; Keras {} loss objects divide by themselves".format(version) if version.startswith("3") else ""


def sum_reduction(evidence):
    totals = different(evidence)
    if totals is None or not _is(totals, evidence, "B", "b"):
        return None
    if _is(totals, evidence, "N") and not (totals.replicas_shown and _is_batch(totals, evidence)):
        return None
    which = "the global batch" if _is(totals, evidence, "B") else "the per-replica batch"
    other = [name for name in known(totals.all, evidence.replicas, evidence.context.global_batch) if name not in "Bb"]
    return Found(
        "Every gradient is {} x legacy's, {}: the loss is a sum over examples and not a mean.".format(
            number(totals.all), which
        ),
        MEDIUM if other else HIGH,
        _fit(totals) + ("; the same number is also " + ", ".join(other) if other else ""),
    )


def towers_summed(evidence):
    totals = different(evidence)
    if totals is None or not near(totals.reduction, 1 / evidence.replicas, 1e-4) or not near(totals.replica, 1, 1e-4):
        return None
    return Found(
        "Legacy sums its towers' gradients and the port averages them: every gradient is {} x legacy's.".format(
            number(totals.all)
        ),
        HIGH,
        "{}; each side's combined gradients are explained by its own replicas' (legacy: sum, port: mean)".format(
            _fit(totals)
        ),
    )


def gradient_scale(evidence):
    totals = different(evidence)
    if totals is None or known(totals.all, evidence.replicas, evidence.context.global_batch)[:1] in (
        ["N"],
        ["1/N"],
        ["B"],
        ["b"],
    ):
        return None
    if abs(totals.all - 1) < 20 * totals.residual:
        return None  # what is left over is as large: no factor, but noise
    names = known(totals.all, evidence.replicas, evidence.context.global_batch)
    return Found(
        "Every gradient is {:.9g} x legacy's{}: one factor in the loss or in the reduction.".format(
            totals.all, " ({})".format(", ".join(names)) if names else ", no number of replicas or examples"
        ),
        MEDIUM,
        "{}; of it {} within a replica and {} in the reduction".format(
            _fit(totals), number(totals.replica), number(totals.reduction)
        ),
    )


def loss_share(evidence):
    totals = evidence.totals
    if totals is None or not totals.replicas_shown or different(evidence) is not None or totals.decay:
        return None
    if near(totals.replica, 1, 1e-4):
        return None
    return Found(
        "Each replica's loss and gradients are {} x legacy's and the reduction makes up for it ({} x): the optimizer "
        "gets the same.".format(number(totals.replica), number(totals.reduction)),
        HIGH,
        _fit(totals),
    )


def hidden_scale(evidence):
    left, right = evidence.combining
    totals = different(evidence)
    rule = evidence.context.optimizer
    if totals is None or right is None or not right.derived or not isinstance(rule, optimizers.Adam):
        return None
    return Found(
        "The slots say that every gradient is {} x legacy's (m x {}, v x {}); Adam divides it out again, so the "
        "weights nearly agree.".format(number(totals.all), number(totals.all), number(totals.all**2)),
        HIGH,
        _fit(totals) + "; the record shows no gradients, they were worked out from the slots",
    )


def reported_loss(evidence):
    found = [entry for entry in evidence.gradients if all(entry.loss_finite)]
    totals = evidence.totals
    if not found or totals is None or totals.decay or not near(totals.replica, 1, 1e-5):
        return None
    ratios = [entry.loss for entry in found]
    if all(near(ratio, 1, 2 * evidence.eps) for ratio in ratios):
        return None
    what = _reported(evidence)
    if what is None:
        return None
    return Found(
        "The gradients agree and only the reported loss differs: it is {}.".format(what),
        HIGH,
        "gradient factor {} in {} replica steps from the same state".format(number(totals.replica), len(found)),
    )


def _reported(evidence):
    steps = [step for step in evidence.steps if step.same_state]
    rows = [(np.array(s.left.losses, np.float64), np.array(s.right.losses, np.float64)) for s in steps]
    tolerance = 2 * evidence.eps
    if any(a.shape != b.shape for a, b in rows):
        return None
    if all(np.allclose(b, a[0], rtol=tolerance) for a, b in rows):
        return "the first replica's alone"
    if all(np.allclose(b, a.sum(), rtol=tolerance) for a, b in rows):
        return "the sum over the replicas"
    if all(np.allclose(b, a.mean(), rtol=tolerance) for a, b in rows):
        return "the mean over the replicas, for each of them"
    ratios = [float(ratio) for a, b in rows for ratio in b / a]
    if spread(ratios) <= 1000 * evidence.eps and not near(ratios[0], 1, 1e-3):
        names = known(ratios[0], evidence.replicas, evidence.context.global_batch)
        return "{} x legacy's{}".format(number(ratios[0]), " ({})".format(names[0]) if names else "")
    return None


def _by_weight(evidence):
    """{weight: [factor, one a replica and step]} if each weight's gradient is one clean factor, else {}."""
    found = [entry for entry in evidence.gradients if entry.tensors]
    if not found or evidence.totals is not None:
        return {}
    rows = {}
    for entry in found:
        for name, fit in entry.tensors.items():
            if not np.isfinite(fit.factor):
                continue
            if fit.residual > 4 * evidence.clean and fit.factor != 0:
                return {}
            rows.setdefault(name, []).append(fit.factor)
    return {name: values for name, values in rows.items() if spread(values) < 1e-3}


def no_gradient(evidence):
    rows = _by_weight(evidence)
    zero = [name for name, values in rows.items() if not any(values)]
    if not zero or len(zero) == len(rows):
        return None
    return Found(
        "{} weights get no gradient in the port ({}); legacy's do.".format(len(zero), ", ".join(sorted(zero)[:3])),
        HIGH,
        "exactly zero in every replica and step from the same state",
    )


def partly_scaled(evidence):
    rows = _by_weight(evidence)
    off = {name: values[0] for name, values in rows.items() if not near(values[0], 1, 1e-4) and any(values)}
    if not off or len(off) == len(rows) or spread(off.values()) > 1e-3:
        return None
    name, factor = sorted(off.items())[0]
    return Found(
        "The gradients of {} of {} weights are {} x legacy's, the others agree ({}).".format(
            len(off), len(rows), number(factor), name
        ),
        HIGH,
        "weight by weight, one factor in every replica and step from the same state",
    )


def left_out(evidence):
    left, right = evidence.combining
    for side, who in ((right, "the port"), (left, "legacy")):
        if side is None or side.first is not None or side.borrowed or len(side.coefficients[0].coefficients) < 2:
            continue
        rows = np.array([fit.coefficients for fit in side.coefficients])
        if max(fit.residual for fit in side.coefficients) > side.noise or np.max(np.ptp(rows, axis=0)) > 1e-3:
            continue
        shares = rows.mean(axis=0)
        missing = [i for i, share in enumerate(shares) if abs(share) < 1e-3]
        if missing and len(missing) < len(shares):
            return Found(
                "In {} the gradients of replica{} {} never reach the update; the others count {}.".format(
                    who,
                    "s" if len(missing) > 1 else "",
                    ", ".join(map(str, missing)),
                    ", ".join(number(share) for share in shares if abs(share) >= 1e-3),
                ),
                HIGH,
                "the combined gradient is a sum of the replicas' with these weights, residual {:.1e}".format(
                    max(fit.residual for fit in side.coefficients)
                ),
            )
    return None


class _Twice(planting.Scaled):
    def _combine(self, context, gradients):
        combined = super()._combine(context, gradients)
        return {name: value * self._job.replicas for name, value in combined.items()}


class _DividedToo(planting.Scaled):
    def factor(self):
        return 1.0 / self._job.replicas


class _DividedTwiceSummed(_DividedToo):
    summed = True

    def factor(self):
        return 1.0 / self._job.replicas**2


class _SumOfExamples(planting.Scaled):
    def factor(self):
        return float(self._job.per_replica_batch)


class _SumOfExamplesSummed(_SumOfExamples):
    summed = True


class _Share(_DividedToo):
    summed = True


class _Slightly(planting.Scaled):
    def factor(self):
        return 1.0 + 1e-4


class _SomeTwice(planting.Scaled):
    """The first weight's gradient is doubled."""

    def _forward_backward(self, local, step, replica, batch):
        loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
        name = next(iter(gradients))
        return (loss, {**gradients, name: gradients[name] * 2.0}, *rest)


class _SomeStopped(planting.Scaled):
    """The first weight's gradient is stopped."""

    def _forward_backward(self, local, step, replica, batch):
        loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
        name = next(iter(gradients))
        return (loss, {**gradients, name: gradients[name] * 0.0}, *rest)


class _Thrice(planting.Scaled):
    def factor(self):
        return 3.0


class _FirstOnly(planting.Scaled):
    """Only the first replica's gradients are used."""

    def _combine(self, context, gradients):
        from modern import exchange

        return dict(zip(gradients, exchange.from_first(context, list(gradients.values()))))


def _forget_gradients(record):
    record.gradients, record.combined = [], {}


def _first_loss(record):
    record.losses = [record.losses[0] for _ in record.losses]


def _loss_shares(record):
    record.losses = [loss / np.asarray(len(record.losses), loss.dtype) for loss in record.losses]


def _loss_sum(record):
    record.losses = [np.sum(record.losses, dtype=record.losses[0].dtype) for _ in record.losses]


def _adam(workload):
    return planting.having(optimizer=optimizers.Adam(), clip=None)(workload)


def _summing(workload):
    return planting.having(combine="sum", clip=None)(workload)


CAUSES = (
    Cause(
        "HIDDEN_SCALE",
        stages.COMBINED,
        "Adam hides a factor in the gradients",
        "weights agree to about 1e-3; m is a times and v a^2 times legacy's",
        "Adam divides the gradient by its own size, so a wrong scale shows in the slots and hardly in the weights.",
        "Find the factor's own cause (see LOSS_NOT_DIVIDED, LOSS_DIVIDED_TWICE, SUM_REDUCTION); compare gradients or "
        "slots, never weights alone.",
        hidden_scale,
        (
            Fault(
                "slots_show_a_sum",
                planting.fields(lambda job: {"combine": "sum"}) + planting.record(_forget_gradients),
                _adam,
                also=("LOSS_NOT_DIVIDED",),
            ),
            Fault(
                "slots_show_a_factor",
                planting.step(_Thrice) + planting.record(_forget_gradients),
                _adam,
                also=("GRADIENT_SCALE",),
            ),
        ),
        "R15",
    ),
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
            Fault("sum_for_mean", planting.fields(lambda job: {"combine": "sum"}), planting.no_clip),
            Fault("reduced_twice", planting.step(_Twice), planting.no_clip),
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
            Fault("divided_and_averaged", planting.step(_DividedToo), planting.no_clip),
            Fault("divided_twice_and_summed", planting.step(_DividedTwiceSummed), planting.no_clip),
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
            Fault("sum_over_examples_and_replicas", planting.step(_SumOfExamplesSummed), planting.no_clip),
            Fault("sum_over_examples", planting.step(_SumOfExamples), planting.no_clip),
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
        (Fault("mean_for_sum", planting.fields(lambda job: {"combine": "mean"}), _summing),),
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
            Fault("gradients_a_little_larger", planting.step(_Slightly), planting.no_clip),
            Fault("loss_times_three", planting.step(_Thrice), planting.no_clip),
        ),
    ),
    Cause(
        "GRADIENT_MISSING",
        stages.GRADIENTS,
        "some weights get no gradient",
        "gradients of some weights are zero, of the others equal",
        "A stop_gradient, a variable that is read outside the tape, a layer that is not trainable.",
        "Compute the loss from the variables themselves, inside the tape.",
        no_gradient,
        (Fault("first_weights_gradient_stopped", planting.step(_SomeStopped)),),
    ),
    Cause(
        "GRADIENT_PARTLY_SCALED",
        stages.GRADIENTS,
        "some weights' gradients have a factor",
        "gradients of some weights are one number times legacy's, of the others equal",
        "A gradient multiplier for some layers (slim's, or a custom gradient), or a weight that is used twice.",
        "Carry the multipliers over.",
        partly_scaled,
        (Fault("first_weights_gradient_doubled", planting.step(_SomeTwice)),),
    ),
    Cause(
        "REPLICA_LEFT_OUT",
        stages.COMBINED,
        "some replicas' gradients never reach the update",
        "the combined gradient is a sum of the replicas' with some weights zero",
        "A combining step that overwrites instead of adding, or an update that reads one replica's gradient.",
        "Reduce all replicas: replica_context.all_reduce, or merge_call with extended.reduce_to.",
        left_out,
        (Fault("only_the_first_replicas_gradients", planting.step(_FirstOnly), planting.no_clip),),
    ),
    Cause(
        "REPORTED_LOSS",
        stages.LOSS,
        "only the reported loss differs",
        "gradients agree; the loss is one replica's, or the sum, or 1/N",
        "What a step returns is one replica's value, or a share of the global loss, unless it is reduced.",
        "Report strategy.reduce of the per-replica losses: SUM if each is divided by the global batch, else MEAN.",
        reported_loss,
        (
            Fault("first_replicas_loss_reported", planting.record(_first_loss)),
            Fault("shares_of_the_loss_reported", planting.record(_loss_shares)),
            Fault("sum_of_losses_reported", planting.record(_loss_sum)),
        ),
    ),
    Cause(
        "LOSS_SHARE",
        stages.LOSS,
        "each replica has 1/N of the loss and the shares are summed",
        "losses and gradients of a replica are 1/N of legacy's; what the optimizer gets agrees",
        "It is how tf.distribute wants it: the loss divided by the global batch, gradients summed.",
        "Nothing: multiply the replicas' losses and gradients by N before comparing them.",
        loss_share,
        (Fault("shares_summed", planting.step(_Share), planting.no_clip),),
        bug=False,
    ),
)
