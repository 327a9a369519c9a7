"""Causes in weight decay: how often it is counted, and its factor of one half."""

from __future__ import annotations

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.wording import format_number
from parity.comparison import stages
from parity.comparison.fits import near, spread
from workloads import scope


def _decays(evidence):
    """[decay on the right over legacy's, one a replica], the same for every decayed weight; None if there is none.

    The right's own multiple of a weight is the data's factor times legacy's, plus what the fit adds. Where the
    replicas' data gradients are legacy's and only the reduction has a factor, that one belongs to the reduction.
    """
    totals, rate = evidence.gradient_factors, evidence.context.weight_decay
    if totals is None or not totals.decay or not rate or _elsewhere(evidence):
        return None
    base = _base(totals, rate)
    rows = [[(totals.total + extra / rate) / base for extra in values] for values in totals.decay.values()]
    if max(spread(column) for column in zip(*rows)) > 1e-2 and np.ptp(rows, axis=0).max() > 1e-2:
        return None
    return [float(np.median(column)) for column in zip(*rows)]


def _base(totals, rate):
    """What a decay that is legacy's counts in all: the reduction's factor, or 1 if that is what it counts."""
    whole = [totals.total + extra / rate for values in totals.decay.values() for extra in values]
    if not totals.replicas_shown or not near(totals.replica, 1, 1e-3) or all(near(w, 1, 5e-3) for w in whole):
        return 1.0
    return totals.reduction


def _elsewhere(evidence):
    """Weights that get a decay on the right and that legacy does not decay, where it is known which it does."""
    totals, known = evidence.gradient_factors, evidence.context.decayed
    if totals is None or known is None:
        return []
    return sorted(name for name, values in totals.decay.items() if name not in known and max(map(abs, values)) > 0)


def elsewhere(evidence):
    names = _elsewhere(evidence)
    if not names or not evidence.gradient_factors.replicas_shown:
        return None
    rates = [evidence.gradient_factors.decay[name][0] for name in names]
    if spread(rates) > 0.05:
        return None
    return Finding(
        "The port decays {} weights that legacy does not ({}), at rate {:.4g}.".format(
            len(names), ", ".join(names[:3]), float(np.median(rates))
        ),
        HIGH,
        _because(evidence),
    )


def _because(evidence):
    totals = evidence.gradient_factors
    return f"fitted g = a g_legacy + d w in {totals.steps} steps from the same state: data factor {format_number(totals.total)}, residual {totals.residual:.1e}"


def _even(evidence):
    """The one ratio of all replicas, or not-a-number."""
    ratios = _decays(evidence)
    return ratios[0] if ratios and np.ptp(ratios) <= 1e-2 else float("nan")


def _shares(evidence):
    """Whether each replica's data gradient is 1/N while its decay is whole: the usual way to count it N times."""
    totals = evidence.gradient_factors
    return totals.replicas_shown and near(totals.replica, 1 / evidence.replicas, 1e-3)


def not_scaled(evidence):
    ratio, replicas = _even(evidence), evidence.replicas
    if replicas == 1 or not (near(ratio, replicas, 5e-3) or near(ratio, 2 * replicas, 5e-3)):
        return None
    doubled = replicas == 2 and near(ratio, 2, 5e-3) and not _shares(evidence)
    if doubled and evidence.gradient_factors.replicas_shown:
        return None  # a factor of 2 inside each replica: `L2_HALF_FACTOR`
    return Finding(
        f"The weight decay counts {format_number(ratio)} x: every replica adds all of it and the replicas are summed, while the data's "
        f"gradient is {format_number(evidence.gradient_factors.total)} x legacy's.",
        MEDIUM if doubled else HIGH,
        _because(evidence) + ("; with two replicas, a missing factor of one half looks the same" if doubled else ""),
    )


def half_factor(evidence):
    ratio, replicas = _even(evidence), evidence.replicas
    both = replicas > 1 and near(ratio, 2 * replicas, 5e-3)
    if not both and not near(ratio, 2, 5e-3) and not near(ratio, 0.5, 5e-3):
        return None
    if replicas == 2 and near(ratio, 2, 5e-3) and _shares(evidence):
        return None  # each replica's decay is legacy's, counted twice: `REG_NOT_SCALED`
    sure = evidence.context.decayed is not None and (evidence.gradient_factors.replicas_shown or replicas != 2)
    return Finding(
        f"The weight decay is {format_number(ratio)} x legacy's: 1.x's l2_loss is half the squared norm and Keras's L2 is all of it.",
        HIGH if sure else MEDIUM,
        _because(evidence),
    )


def collected_once(evidence):
    ratios, replicas = _decays(evidence), evidence.replicas
    if ratios is None or replicas < 2:
        return None
    base = _base(evidence.gradient_factors, evidence.context.weight_decay)
    scaled = [ratio * base / (evidence.gradient_factors.total or 1.0) for ratio in ratios]
    if len(ratios) == replicas and np.ptp(scaled) > 0.5:
        if near(scaled[0], 1, 5e-2) and all(abs(ratio) < 0.05 for ratio in scaled[1:]):
            return _once("The port adds the weight decay in the first replica only: it counts 1/{}.", evidence)
        if near(scaled[0], 1, 5e-2) and all(near(ratio, 2, 5e-2) for ratio in scaled[1:]):
            return _once("Legacy adds the weight decay in its first tower only: there it counts 1/{}.", evidence)
        return None
    if all(abs(ratio) < 5e-3 for ratio in ratios):
        return Finding(
            "The port's gradient has no weight decay at all; legacy's towers add it.",
            HIGH,
            _because(evidence) + f"; the fitted decay is {abs(ratios[0]):.1e} of legacy's",
        )
    if replicas != 2 and near(_even(evidence), 1 / replicas, 5e-3):
        return _once("The weight decay counts 1/{} of legacy's.", evidence)
    return None


def _once(sentence, evidence):
    return Finding(sentence.format(evidence.replicas), HIGH, _because(evidence) + "; decay fitted replica by replica")


def other_rate(evidence):
    ratio, replicas = _even(evidence), evidence.replicas
    if not np.isfinite(ratio) or abs(ratio) < 5e-3 or near(ratio, 1, 2e-3):
        return None
    known = (2, 0.5, replicas, 2 * replicas, 1 / replicas, evidence.gradient_factors.total)
    if any(near(ratio, value, 5e-3) for value in known):
        return None
    return Finding(f"The weight decay is {format_number(ratio)} x legacy's.", MEDIUM, _because(evidence))


def _decayed(job):
    return scope.trace_decayed(job.workload, job.per_replica_batch, job.dtype)


class _Unscaled(injection.ScaledStep):
    """The data's loss is divided by N, the decay is not; gradients are summed."""

    summed = True

    def _forward_backward(self, local, step, replica, batch):
        loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
        return (loss / self._job.replicas, self._with_decay(local, gradients), *rest)

    def _with_decay(self, local, gradients):
        replicas, rate, names = self._job.replicas, self._job.workload.weight_decay, _decayed(self._job)
        mixed = {}
        for name, gradient in gradients.items():
            decay = rate * local.weights[name].read_value() if name in names else 0.0
            mixed[name] = (gradient - decay) / replicas + decay
        return mixed


class _FirstReplicaOnly(injection.ScaledStep):
    """Only the first replica's loss has the decay."""

    def _forward_backward(self, local, step, replica, batch):
        loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
        if replica:
            rate, names = self._job.workload.weight_decay, _decayed(self._job)
            gradients = {
                name: g - rate * local.weights[name].read_value() if name in names else g
                for name, g in gradients.items()
            }
        return (loss, gradients, *rest)


class _DecaysAll(injection.ScaledStep):
    """A decay of every weight that the model does not decay itself."""

    def _forward_backward(self, local, step, replica, batch):
        loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
        names = set(gradients) - set(_decayed(self._job))
        weights = {name: local.weights[name].read_value() for name in names}
        return (loss, {n: g + 0.01 * weights[n] if n in names else g for n, g in gradients.items()}, *rest)


def _first_tower_only(tower_loss):
    def patched(workload, frame, batch):
        frame_loss = tower_loss(workload, frame, batch)
        if frame.replica == 0 or not frame.penalties:
            return frame_loss
        import tensorflow as tf

        return frame_loss - tf.add_n(frame.penalties)

    return patched


def _decay(factor):
    return injection.in_workload(lambda job: {"weight_decay": job.workload.weight_decay * factor(job)})


def _decaying(workload):
    return injection.without_clip(workload) if workload.weight_decay else None


CAUSES = (
    Cause(
        "REG_NOT_SCALED",
        stages.GRADIENTS,
        "every replica adds the whole regularization and they are summed",
        "g = g_data + N l w: the decay is N times legacy's, the data's gradient agrees",
        "The data's loss is divided by the global batch and the penalty is not; a sum over replicas then counts it N "
        "times. Keras's fit scales its own regularizers, a custom loop that adds sum(model.losses) does not.",
        "tf.nn.scale_regularization_loss, or divide the penalty by the number of replicas.",
        not_scaled,
        (
            Fault("penalty_not_divided", injection.in_replica_step(_Unscaled), _decaying),
            Fault("decay_times_replicas", _decay(lambda job: job.replicas), _decaying, occurs_at=lambda n: n > 2),
        ),
        "R04",
    ),
    Cause(
        "L2_HALF_FACTOR",
        stages.GRADIENTS,
        "l2_loss's factor of one half",
        "the decay is 2 or 1/2 times legacy's, the data's gradient agrees",
        "tf.nn.l2_loss and contrib's l2_regularizer are half the squared norm times the rate, Keras's L2 the whole.",
        "L2(rate / 2) for tf.nn.l2_loss times rate.",
        half_factor,
        (
            Fault("l2_without_the_half", _decay(lambda job: 2), _decaying),
            Fault("l2_halved_twice", _decay(lambda job: 0.5), _decaying),
        ),
        "R05",
    ),
    Cause(
        "REG_COLLECTED_ONCE",
        stages.GRADIENTS,
        "regularization is collected in one tower, or in none",
        "the decay is 1/N of the rate, or 0; by replicas: whole in the first, nothing in the others",
        "get_variable(regularizer=...) registers one loss for all towers, so a tower that collects by its own name "
        "scope finds it in the first tower or nowhere.",
        "Decide which it was: give every replica's loss l/N for a decay that was collected once, or document that the "
        "port mends it.",
        collected_once,
        (
            Fault("penalty_in_the_first_replica_only", injection.in_replica_step(_FirstReplicaOnly), _decaying),
            Fault(
                "penalty_in_the_first_tower_only",
                injection.in_towers("tower_loss", _first_tower_only),
                _decaying,
                "legacy",
            ),
            Fault("penalty_lost", _decay(lambda job: 0), _decaying),
        ),
        "R06",
    ),
    Cause(
        "WEIGHT_DECAY_ELSEWHERE",
        stages.GRADIENTS,
        "other weights are decayed",
        "a multiple of the weight is added where legacy adds none (biases, batch norm's scale and offset)",
        "A regularizer or an optimizer's weight decay that takes all variables.",
        "Decay the weights that legacy decays.",
        elsewhere,
        (Fault("every_weight_decayed", injection.in_replica_step(_DecaysAll), injection.without_clip),),
    ),
    Cause(
        "WEIGHT_DECAY_RATE",
        stages.GRADIENTS,
        "another rate of weight decay",
        "the decay is some other number times legacy's, the data's gradient agrees",
        "A constant that was not carried over.",
        "Give the port legacy's rate.",
        other_rate,
        (Fault("another_decay_rate", _decay(lambda job: 1.25), _decaying),),
    ),
)
