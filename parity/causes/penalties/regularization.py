"""Causes in regularization: counted once a replica, collected in one tower, or without l2_loss's factor of one half."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor
from parity.causes.penalties.decay_ratios import (
    DecayRatios,
    changed_weights,
    decay_constants,
    describe_decay_fit,
    fit_decay_ratios,
    inject_decay,
    multiples_of_all_but_first,
    of_weights,
)
from parity.causes.penalties.weight_decay import decayed_weights, decaying, scale_decay
from parity.comparison import stages
from parity.comparison.fits import near

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.diagnosis.evidence import Evidence
    from workloads.frame import Frame
    from workloads.workload import Workload

#: Tolerance of a ratio that is the same in all replicas, and of the ratios of single replicas.
COMMON, SINGLE = 5e-3, 5e-2


def reg_not_scaled(evidence: Evidence) -> Finding | None:
    """Recognizes REG_NOT_SCALED: the decay counts N (or, without the factor of one half, 2 N) times."""
    decay, replicas = fit_decay_ratios(evidence), evidence.replicas
    if decay is None or replicas == 1:
        return None
    ratio = decay.common
    if not near(ratio, replicas, COMMON) and not near(ratio, 2 * replicas, COMMON):
        return None
    may_be_half = replicas == 2 and near(ratio, 2, COMMON)
    if may_be_half and decay.factors.replicas_shown and not decay.is_in_shares(replicas):
        return None  # a factor of 2 inside each replica: `L2_HALF_FACTOR`
    return Finding(
        f"The weight decay counts {format_factor(ratio)} x: every replica adds all of it and the replicas are summed, "
        f"while the data's gradient is {format_factor(decay.factors.total)} x legacy's.",
        MEDIUM if may_be_half else HIGH,
        decay.because + ("; with two replicas, a missing factor of one half looks the same" if may_be_half else ""),
        decay_constants(decay.factors, evidence),
        ambiguous=may_be_half,
    )


def l2_half_factor(evidence: Evidence) -> Finding | None:
    """Recognizes L2_HALF_FACTOR: the decay is 2 or 1/2 times legacy's (or 2 N times, counted by every replica)."""
    decay, replicas = fit_decay_ratios(evidence), evidence.replicas
    if decay is None:
        return None
    ratio = decay.common
    counted_by_all = replicas > 1 and near(ratio, 2 * replicas, COMMON)
    if not counted_by_all and not near(ratio, 2, COMMON) and not near(ratio, 0.5, COMMON):
        return None
    # In each of two replicas that sum shares, half of a doubled decay is the whole decay of `REG_NOT_SCALED`.
    looks_whole = replicas == 2 and near(ratio, 2, COMMON) and decay.is_in_shares(replicas)
    told_apart = not looks_whole and (decay.factors.replicas_shown or replicas != 2)
    unique = evidence.context.decayed is not None and told_apart
    names = changed_weights(evidence)
    return Finding(
        f"The weight decay{of_weights(names)} is {format_factor(ratio)} x legacy's: 1.x's l2_loss is half the squared "
        "norm and Keras's L2 is all of it.",
        HIGH if unique else MEDIUM,
        decay.because + ("; a decay that legacy lacks looks the same" if names else ""),
        decay_constants(decay.factors, evidence),
        ambiguous=not unique,
    )


def reg_collected_once(evidence: Evidence) -> Finding | None:
    """Recognizes REG_COLLECTED_ONCE: only the first replica, only legacy's first tower, or no replica has a decay."""
    decay, replicas = fit_decay_ratios(evidence), evidence.replicas
    if decay is None or replicas < 2:
        return _unknown_in_first(evidence)
    scaled = [ratio * decay.base / (decay.factors.total or 1.0) for ratio in decay.by_replica]
    if len(scaled) == replicas and np.ptp(scaled) > 0.5:
        return _collected_in_first(scaled, decay, evidence)
    if all(abs(ratio) < COMMON for ratio in decay.by_replica):
        known = evidence.context.decayed is not None
        names = ", ".join(sorted(decay.factors.decay)[:4])
        return Finding(
            "The port's gradient has no weight decay at all; legacy's towers add it."
            if known
            else f"The port's gradient has no weight decay of {names}; legacy's towers add it.",
            HIGH if known else MEDIUM,
            ("" if known else "other weights may be decayed on both sides: a recording does not say; ")
            + decay.because
            + f"; the fitted decay is {abs(decay.by_replica[0]):.1e} of legacy's",
            decay_constants(decay.factors, evidence),
            variables=() if known else tuple(sorted(decay.factors.decay)),
        )
    if replicas != 2 and near(decay.common, 1 / replicas, COMMON):
        constants = decay_constants(decay.factors, evidence)
        return _counted_once(f"The weight decay counts 1/{replicas} of legacy's.", decay, constants)
    return None


def _collected_in_first(scaled: list[float], decay: DecayRatios, evidence: Evidence) -> Finding | None:
    """Recognizes a decay in the first replica, or in legacy's first tower, from each replica's ratio to legacy's."""
    if not near(scaled[0], 1, SINGLE):
        return None
    replicas, constants = len(scaled), decay_constants(decay.factors, evidence)
    if all(abs(ratio) < SINGLE for ratio in scaled[1:]):
        return _counted_once(
            f"The port adds the weight decay in the first replica only: it counts 1/{replicas}.", decay, constants
        )
    if all(near(ratio, 2, SINGLE) for ratio in scaled[1:]):
        return _counted_once(
            f"Legacy adds the weight decay in its first tower only: there it counts 1/{replicas}.",
            decay,
            _injected_into_legacy(constants),
        )
    return None


def _unknown_in_first(evidence: Evidence) -> Finding | None:
    """Recognizes a decay in the first replica, or tower, where legacy's rate is not known, as that of an old graph."""
    factors, multiples = evidence.gradient_factors, multiples_of_all_but_first(evidence)
    if factors is None or not multiples:
        return None
    terms = ", ".join(f"{abs(rate):.4g} x {name}" for name, rate in sorted(multiples.items())[:4])
    others, none, once = (
        ("replicas of the port", "legacy's towers", "legacy adds it in its first tower")
        if next(iter(multiples.values())) > 0
        else ("towers of legacy", "the port's replicas", "the port adds it in its first replica")
    )
    sentence = f"All {others} but the first have a decay ({terms}) that {none} do not: {once} only."
    because = describe_decay_fit(factors) + "; legacy's rate is not known: a decay of all but the first looks the same"
    constants = decay_constants(factors, evidence)
    return Finding(sentence, MEDIUM, because, constants, variables=tuple(multiples), ambiguous=True)


def _injected_into_legacy(constants: dict[str, Any]) -> dict[str, Any]:
    """Returns the constants of the reverse difference: what legacy lacks beside the port."""
    negated = tuple((name, tuple(-value for value in values)) for name, values in constants["multiples"])
    return {**constants, "multiples": negated, "side": "legacy"}


def _counted_once(sentence: str, decay: DecayRatios, constants: dict[str, Any]) -> Finding:
    return Finding(sentence, HIGH, decay.because + "; decay fitted replica by replica", constants)


class _LossDividedDecayNot(injection.ScaledStep):
    """Divides the data's loss by N, does not divide the decay, and sums the gradients."""

    summed = True

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        found = super()._forward_backward(local, step, replica, batch)
        return found._replace(
            loss=found.loss / self._job.replicas, gradients=self._with_whole_decay(local, found.gradients)
        )

    def _with_whole_decay(self, local: LocalState, gradients: Tensors) -> Tensors:
        replicas, rate, names = self._job.replicas, self._job.workload.weight_decay, decayed_weights(self._job)
        mixed = {}
        for name, gradient in gradients.items():
            decay = rate * local.weights[name].read_value() if name in names else 0.0
            mixed[name] = (gradient - decay) / replicas + decay
        return mixed


class _DecayInFirstReplica(injection.ScaledStep):
    """Removes the decay from the gradients of all replicas but the first."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        found = super()._forward_backward(local, step, replica, batch)
        gradients = found.gradients
        if replica:
            rate, names = self._job.workload.weight_decay, decayed_weights(self._job)
            gradients = {
                name: g - rate * local.weights[name].read_value() if name in names else g
                for name, g in gradients.items()
            }
        return found._replace(gradients=gradients)


def _penalties_in_first_tower(tower_loss: Callable[..., tf.Tensor]) -> Callable[..., tf.Tensor]:
    """Returns `workloads.tower_loss.tower_loss` without the penalties of all towers but the first."""

    def patched(workload: Workload, frame: Frame, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        loss = tower_loss(workload, frame, batch)
        if frame.replica == 0 or not frame.penalties:
            return loss
        import tensorflow as tf

        return loss - tf.add_n(frame.penalties)

    return patched


CAUSES = (
    Cause(
        id="REG_NOT_SCALED",
        stage=stages.GRADIENTS,
        title="every replica adds the whole regularization and they are summed",
        signature="g = g_data + N l w: the decay is N times legacy's, while the data's gradient agrees",
        why="The data's loss is divided by the global batch and the penalty is not; the sum over replicas then counts "
        "the penalty N times. Keras's fit scales its own regularizers; a custom loop that adds sum(model.losses) does "
        "not.",
        fix="Use tf.nn.scale_regularization_loss, or divide the penalty by the number of replicas.",
        criterion=reg_not_scaled,
        change=inject_decay,
        faults=(
            Fault("penalty_not_divided", injection.in_replica_step(_LossDividedDecayNot), decaying),
            Fault("decay_times_replicas", scale_decay(lambda job: job.replicas), decaying, occurs_at=lambda n: n > 2),
        ),
        pitfall="R04",
    ),
    Cause(
        id="L2_HALF_FACTOR",
        stage=stages.GRADIENTS,
        title="l2_loss's factor of one half",
        signature="The decay is 2 or 1/2 times legacy's, while the data's gradient agrees",
        why="tf.nn.l2_loss and contrib's l2_regularizer are half the squared norm times the rate; Keras's L2 is the "
        "whole squared norm times the rate.",
        fix="Write L2(rate / 2) for tf.nn.l2_loss times rate.",
        criterion=l2_half_factor,
        change=inject_decay,
        faults=(
            Fault("l2_without_the_half", scale_decay(lambda job: 2), decaying),
            Fault("l2_halved_twice", scale_decay(lambda job: 0.5), decaying),
        ),
        pitfall="R05",
    ),
    Cause(
        id="REG_COLLECTED_ONCE",
        stage=stages.GRADIENTS,
        title="regularization is collected in one tower, or in none",
        signature="The decay is 1/N of the rate, or 0; replica by replica it is whole in the first and 0 in the others",
        why="get_variable(regularizer=...) registers one loss for all towers, so a tower that collects the losses of "
        "its own name scope finds it in the first tower, or nowhere.",
        fix="Decide which was meant: give every replica's loss l/N for a decay that was collected once, or document "
        "that the port corrects it.",
        criterion=reg_collected_once,
        change=inject_decay,
        faults=(
            Fault("penalty_in_the_first_replica_only", injection.in_replica_step(_DecayInFirstReplica), decaying),
            Fault(
                "penalty_in_the_first_tower_only",
                injection.in_towers("tower_loss", _penalties_in_first_tower),
                decaying,
                "legacy",
            ),
            Fault("penalty_lost", scale_decay(lambda job: 0), decaying),
        ),
        pitfall="R06",
    ),
)
