"""Causes in the terms that penalties add to gradients: another norm, or a decay of some of the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.gradient_changes import penalized_gradients
from parity.causes.basics.loss_fit import fit_loss
from parity.causes.basics.wording import format_factor, shortest_decimal
from parity.causes.penalties.decay_ratios import inject_decay, newly_decayed_weights
from parity.causes.penalties.weight_decay import decayed_weights
from parity.comparison import stages
from parity.comparison.fits import near, spread
from parity.diagnosis.localization.extents import find_extents
from parity.diagnosis.signatures.penalties import PenaltyChange, fit_penalty_changes, same_multiple
from workloads.tracing import trace_decayed

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload

#: One term is none beside another if it is smaller by this factor.
NONE = 1e-2

#: A ratio of decays is 1, or that of another weight, within this part.
SAME_RATIO = 1e-2


def l1_for_l2(evidence: Evidence) -> Finding | None:
    """Recognizes L1_FOR_L2: the port adds a multiple of the weights' signs, and misses legacy's decay."""
    changes = {name: change for name, change in _explaining_changes(evidence).items() if _has_sign(change)}
    if not changes or not same_multiple([change.l1 for change in changes.values()]):
        return None
    l1, l2 = (float(np.median([getattr(change, term) for change in changes.values()])) for term in ("l1", "l2"))
    rate = evidence.context.weight_decay
    replaced = bool(rate) and near(-l2, rate or 0.0, 0.1)
    instead = f" instead of legacy's {format_factor(-l2)} x the weight" if replaced else ""
    return Finding(
        f"The port adds {format_factor(l1)} x the sign of the weight{instead} to the gradients of {len(changes)} "
        f"weights ({', '.join(sorted(changes)[:3])}): an L1 penalty.",
        HIGH,
        "the gradients' difference is explained by the weights and their signs, with one multiple in every replica and "
        "step from the same state",
        {"l1": l1, "l2": l2},
        variables=tuple(sorted(changes)),
    )


def weight_decay_of_some(evidence: Evidence) -> Finding | None:
    """Recognizes WEIGHT_DECAY_OF_SOME: the decay's ratio to legacy's differs between the decayed weights."""
    rate, decayed = evidence.context.weight_decay, evidence.context.decayed
    changes = _explaining_changes(evidence)
    if not rate or decayed is None or len(decayed) < 2 or newly_decayed_weights(evidence) or not changes:
        return None
    if any(_has_sign(change) or name not in decayed for name, change in changes.items()):
        return None
    ratios = {name: 1 + changes[name].l2 / rate if name in changes else 1.0 for name in decayed}
    if spread(ratios.values()) <= SAME_RATIO:
        return None
    other = {name: ratio for name, ratio in sorted(ratios.items()) if not near(ratio, 1, SAME_RATIO)}
    listed = ", ".join(f"{name} {_ratio_text(ratio)}" for name, ratio in list(other.items())[:4])
    return Finding(
        f"The weight decay of {len(other)} of {len(decayed)} weights differs from legacy's: {listed}.",
        HIGH,
        "weight by weight, the gradients' difference is one multiple of the weight in every replica and step from the "
        "same state",
        _decay_constants(evidence, other, rate),
        variables=tuple(other),
    )


def _decay_constants(evidence: Evidence, ratios: Mapping[str, float], rate: float) -> dict[str, Any]:
    """Returns the ratios, and the multiples of the weights that they add on every replica, for `inject_decay`."""
    extra = {name: (shortest_decimal((ratio - 1) * rate, 1e-4),) for name, ratio in ratios.items()}
    in_loss = fit_loss(evidence, (), extra).in_loss
    return {"ratios": tuple(ratios.items()), "multiples": tuple(extra.items()), "in_loss": in_loss}


def _inject_signs(finding: Finding, setup: Setup) -> injection.Change:
    fitted = finding.constants
    l1, l2 = (shortest_decimal(fitted[name], 1e-3) if fitted[name] else 0.0 for name in ("l1", "l2"))
    return penalized_gradients(finding.variables, l1, l2)


def _ratio_text(ratio: float) -> str:
    return "has none" if abs(ratio) < SAME_RATIO else f"{format_factor(ratio)} x"


def _explaining_changes(evidence: Evidence) -> dict[str, PenaltyChange]:
    """The penalties' changes if they explain every gradient that differs, else {}."""
    changes = fit_penalty_changes(evidence)
    return changes if set(find_extents(evidence).gradients.names) == set(changes) else {}


def _has_sign(change: PenaltyChange) -> bool:
    return abs(change.l1) > NONE * abs(change.l2)


class _L1ForL2(injection.ScaledStep):
    """Adds the sum of the decayed weights' magnitudes times the rate, instead of half the sum of their squares."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        import tensorflow as tf

        found = super()._forward_backward(local, step, replica, batch)
        loss, gradients = found.loss, found.gradients
        rate, changed = self._job.workload.weight_decay, dict(gradients)
        for name in decayed_weights(self._job):
            weight = local.weights[name].read_value()
            loss = loss + rate * (tf.reduce_sum(tf.abs(weight)) - tf.nn.l2_loss(weight))
            changed[name] = gradients[name] + rate * (tf.sign(weight) - weight)
        return found._replace(loss=loss, gradients=changed)


class _FirstDecayLost(injection.ScaledStep):
    """Leaves the first decayed weight without its decay."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        import tensorflow as tf

        found = super()._forward_backward(local, step, replica, batch)
        gradients = found.gradients
        name, rate = decayed_weights(self._job)[0], self._job.workload.weight_decay
        weight = local.weights[name].read_value()
        return found._replace(
            loss=found.loss - rate * tf.nn.l2_loss(weight),
            gradients={**gradients, name: gradients[name] - rate * weight},
        )


def _decaying_several(workload: Workload) -> Workload | None:
    """Returns the workload without clipping; None if it decays fewer than two weights."""
    return injection.without_clip(workload) if len(trace_decayed(workload)) > 1 else None


def _decaying_any(workload: Workload) -> Workload | None:
    return injection.without_clip(workload) if trace_decayed(workload) else None


CAUSES = (
    Cause(
        id="L1_FOR_L2",
        stage=stages.GRADIENTS,
        title="a penalty of the weights' magnitudes",
        signature="g = g_legacy - l w + l1 sign(w): the difference of the gradients is made of the weights and their "
        "signs",
        why="Another regularizer of the same name or argument (l1 for l2, or l1_l2).",
        fix="Use legacy's L2 penalty.",
        criterion=l1_for_l2,
        change=_inject_signs,
        faults=(Fault("l1_for_l2", injection.in_replica_step(_L1ForL2), _decaying_any),),
    ),
    Cause(
        id="WEIGHT_DECAY_OF_SOME",
        stage=stages.GRADIENTS,
        title="some weights have another decay",
        signature="The decay of one weight is lost, or another number times legacy's, while that of others agrees",
        why="A layer was built without its regularizer, or each layer has a rate of its own.",
        fix="Give every weight legacy's decay.",
        criterion=weight_decay_of_some,
        change=inject_decay,
        faults=(Fault("decay_of_one_weight_lost", injection.in_replica_step(_FirstDecayLost), _decaying_several),),
    ),
)
