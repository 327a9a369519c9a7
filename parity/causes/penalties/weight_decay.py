"""Causes in weight decay: of other weights, or at another rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor
from parity.causes.penalties.decay_ratios import (
    LEAST_RATIO,
    changed_weights,
    decay_constants,
    describe_decay_fit,
    fit_decay_ratios,
    inject_decay,
    multiples_of_all_but_first,
    multiples_of_unknown_rate,
    newly_decayed_weights,
    of_weights,
)
from parity.comparison import stages
from parity.comparison.fits import near, spread
from workloads import tracing
from workloads.support.wording import counted, plural

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.diagnosis.evidence import Evidence
    from workloads.job import Job
    from workloads.workload import Workload


def weight_decay_elsewhere(evidence: Evidence) -> Finding | None:
    """Recognizes WEIGHT_DECAY_ELSEWHERE: weights that legacy does not decay get one decay."""
    names, factors = newly_decayed_weights(evidence), evidence.gradient_factors
    if not names or factors is None or not factors.replicas_shown:
        return None
    rates = [factors.decay[name][0] for name in names]
    if spread(rates) > 0.05:
        return None
    known = evidence.context.penalized is not None
    return Finding(
        f"The port decays {counted(len(names), 'weight')} that legacy does not ({', '.join(names[:3])}), at rate "
        f"{float(np.median(rates)):.4g}.",
        HIGH if known else MEDIUM,
        describe_decay_fit(factors)
        + ("" if known else "; a recording does not say which weights legacy decays: no matrix gains a decay"),
        decay_constants(factors, evidence),
        variables=tuple(names),
        ambiguous=not known,
    )


def weight_decay_rate(evidence: Evidence) -> Finding | None:
    """Recognizes WEIGHT_DECAY_RATE: the decay's ratio to legacy's is no number that another cause explains."""
    decay, replicas = fit_decay_ratios(evidence), evidence.replicas
    if decay is None:
        return _unknown_rate(evidence)
    ratio = decay.common
    if not np.isfinite(ratio) or abs(ratio) < 5e-3 or near(ratio, 1, 2e-3):
        return None
    explained = (2, 0.5, replicas, 2 * replicas, 1 / replicas, decay.factors.total)
    if any(near(ratio, value, 5e-3) for value in explained):
        return None
    constants = decay_constants(decay.factors, evidence)
    sentence = f"The weight decay{of_weights(changed_weights(evidence))} is {format_factor(ratio)} x legacy's."
    return Finding(sentence, MEDIUM, decay.because, constants)


def _unknown_rate(evidence: Evidence) -> Finding | None:
    """Recognizes another decay where legacy's rate is not known: an old graph's, or one that a loss adds itself."""
    factors, multiples = evidence.gradient_factors, multiples_of_unknown_rate(evidence)
    if factors is None or not multiples or multiples_of_all_but_first(evidence):
        return None  # the latter is `REG_COLLECTED_ONCE`
    rates = {name: _one_rate(values) for name, values in sorted(multiples.items())}
    if None in rates.values():
        return None
    listed = ", ".join(_described_rate(name, multiples[name]) for name in list(rates)[:4])
    in_some = " alone" in listed
    other = "; or one that it adds in other replicas than legacy's towers do" if in_some else ""
    return Finding(
        f"The port's gradients differ from legacy's by multiples of the weights ({listed}): another rate of weight "
        f"decay, l2_loss's factor of one half, or a decay that one side alone has{other}.",
        MEDIUM,
        describe_decay_fit(factors) + "; legacy's own rate is not known",
        decay_constants(factors, evidence),
        variables=tuple(rates),
    )


def _one_rate(values: Sequence[float]) -> float | None:
    """Returns the multiple of a weight that all replicas have, or those that have any; None for several.

    >>> _one_rate([0.1, 0.1001]), _one_rate([0.0, 0.1]), _one_rate([0.1, 0.2])
    (0.10005, 0.1, None)
    """
    least = LEAST_RATIO * max(map(abs, values))
    present = [value for value in values if abs(value) > least]
    rate = float(np.median(present))
    return None if np.ptp(present) > 0.05 * abs(rate) else rate


def _described_rate(name: str, values: Sequence[float]) -> str:
    """Returns a multiple of a weight in words, with the replicas that have it where others have none."""
    rate = _one_rate(values)
    least = LEAST_RATIO * max(map(abs, values))
    having = [str(replica) for replica, value in enumerate(values) if abs(value) > least]
    where = (
        ""
        if len(having) == len(values)
        else f" on {plural(len(having), 'replica', 'replicas')} {', '.join(having)} alone"
    )
    return f"{rate:+.4g} x {name}{where}"


def decayed_weights(job: Job) -> tuple[str, ...]:
    """Returns the names of the weights that the job's model decays."""
    return tuple(tracing.trace_decayed(job.workload, job.per_replica_batch, job.dtype))


def scale_decay(factor: Callable[[Job], float]) -> injection.Change:
    """Multiplies the port's rate of weight decay by `factor(job)`."""
    return injection.in_workload(lambda job: {"weight_decay": job.workload.weight_decay * factor(job)})


def decaying(workload: Workload) -> Workload | None:
    """Returns the workload without clipping; None if it has no weight decay."""
    return injection.without_clip(workload) if workload.weight_decay else None


class _AllWeightsDecayed(injection.ScaledStep):
    """Adds a decay of every weight that the model does not decay itself."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        found = super()._forward_backward(local, step, replica, batch)
        gradients = found.gradients
        names = set(gradients) - set(decayed_weights(self._job))
        weights = {name: local.weights[name].read_value() for name in names}
        return found._replace(gradients={n: g + 0.01 * weights[n] if n in names else g for n, g in gradients.items()})


CAUSES = (
    Cause(
        id="WEIGHT_DECAY_ELSEWHERE",
        stage=stages.GRADIENTS,
        title="other weights are decayed",
        signature="A multiple of the weight is added where legacy adds none (biases, scale and offset of batch "
        "normalization)",
        why="A regularizer, or an optimizer's weight decay, that takes all variables.",
        fix="Decay the weights that legacy decays.",
        criterion=weight_decay_elsewhere,
        change=inject_decay,
        faults=(Fault("every_weight_decayed", injection.in_replica_step(_AllWeightsDecayed), injection.without_clip),),
    ),
    Cause(
        id="WEIGHT_DECAY_RATE",
        stage=stages.GRADIENTS,
        title="another rate of weight decay",
        signature="The decay is some other number times legacy's, while the data's gradient agrees",
        why="A constant that was not carried over.",
        fix="Give the port legacy's rate.",
        criterion=weight_decay_rate,
        change=inject_decay,
        faults=(Fault("another_decay_rate", scale_decay(lambda job: 1.25), decaying),),
    ),
)
