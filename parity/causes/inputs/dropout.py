"""Causes in dropout: the elements that it drops, and how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, LOW, MEDIUM, Cause, Fault, Finding
from parity.comparison import stages
from workloads import layers

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from workloads.scope import Scope
    from workloads.workload import Workload

#: Masks agree if they are equal on more than this part of the elements: of two replicas, and of the two sides.
SAME_ON_REPLICAS, SAME_ON_SIDES = 0.99, 0.9999


def same_dropout_mask(evidence: Evidence) -> Finding | None:
    """Recognizes SAME_DROPOUT_MASK: the port's replicas drop the same elements, and legacy's towers do not."""
    masks = evidence.masks
    if masks is None or not masks.agree[1] > SAME_ON_REPLICAS or masks.agree[0] > SAME_ON_REPLICAS:
        return None
    return Finding(
        f"All replicas drop the same elements: their masks agree on {masks.agree[1]:.1%}, independent masks agree on "
        f"{masks.expected[1]:.0%}.",
        HIGH,
        f"the masks of legacy's towers agree on {masks.agree[0]:.0%}",
    )


def keep_prob_rate(evidence: Evidence) -> Finding | None:
    """Recognizes KEEP_PROB_RATE: dropout keeps another part of the elements, as where keep_prob is read as a rate."""
    masks = evidence.masks
    if masks is None:
        return None
    for name, (left, right) in masks.kept.items():
        noise, nested = 5 / np.sqrt(masks.sizes[name]), name in masks.nested
        if not np.isfinite(left) or (abs(left - right) <= noise and not nested):
            continue
        swapped, digits = abs(right - (1 - left)) <= noise, 1 if nested else 0
        same_noise = "; it draws legacy's noise, and compares it with another rate" if nested else ""
        return Finding(
            f"{name} keeps {right:.{digits}%} of the elements in the port and {left:.{digits}%} in legacy"
            + (": keep_prob was read as a rate." if swapped else f"{same_noise}."),
            HIGH if swapped or nested else MEDIUM,
            f"{masks.sizes[name]} elements were counted"
            + ("; every element that one side keeps the other keeps, too" if nested else ""),
            {"swapped": float(swapped)},
        )
    return None


def dropout_stream(evidence: Evidence) -> Finding | None:
    """Recognizes DROPOUT_STREAM: dropout keeps as many elements as legacy does, but other ones."""
    masks = evidence.masks
    if masks is None or not masks.same <= SAME_ON_SIDES:
        return None
    if same_dropout_mask(evidence) or keep_prob_rate(evidence):
        return None
    return Finding(
        f"Dropout draws other masks ({masks.same:.0%} of the elements agree, {masks.expected[0]:.0%} would by chance): "
        "losses and gradients cannot be compared.",
        HIGH if abs(masks.same - masks.expected[0]) < 0.1 else LOW,
        "as many elements are kept, and the replicas' masks are independent",
    )


class _FirstReplicasNoise(ReplicaStep):
    """Draws the first replica's noise on every replica, as Keras 3's Dropout does."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        return super()._forward_backward(local, step, 0, batch)


class _OtherNoise(ReplicaStep):
    """Draws the noise of other replicas than legacy has."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        return super()._forward_backward(local, step, replica + 100, batch)


class _RateFromKeepProb(ReplicaStep):
    """Hands 1.x's keep_prob to an argument that means the rate."""

    def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
        dropout = layers.dropout

        def swapped_dropout(scope: Scope, x: tf.Tensor, rate: float) -> tf.Tensor:
            return dropout(scope, x, 1.0 - rate) if rate else x

        layers.dropout = swapped_dropout
        try:
            return super()._forward_backward(local, step, replica, batch)
        finally:
            layers.dropout = dropout


def _inject_first_replicas_noise(finding: Finding, setup: Setup) -> injection.Change:
    return injection.in_replica_step(_FirstReplicasNoise)


def _inject_swapped_rate(finding: Finding, setup: Setup) -> injection.Change | None:
    """Injects a keep_prob that is read as a rate; another rate is not known precisely from the elements it keeps."""
    return injection.in_replica_step(_RateFromKeepProb) if finding.constants["swapped"] else None


def dropping(workload: Workload) -> Workload | None:
    """Returns the workload if it has dropout, else None; an `adapt` of faults."""
    return None if workload == workload.without_dropout() else workload


CAUSES = (
    Cause(
        id="SAME_DROPOUT_MASK",
        stage=stages.LOSS,
        title="every replica drops the same elements",
        signature="The masks of replicas 0 and 1 agree on more than 99 % of the elements",
        why="Keras 3's Dropout, and any op with a fixed seed, draws the same numbers on every replica.",
        fix="Make the replica's number a part of a stateless seed.",
        criterion=same_dropout_mask,
        change=_inject_first_replicas_noise,
        faults=(Fault("same_noise_on_every_replica", injection.in_replica_step(_FirstReplicasNoise), dropping),),
        pitfall="R25",
    ),
    Cause(
        id="KEEP_PROB_RATE",
        stage=stages.LOSS,
        title="dropout reads keep_prob as a rate",
        signature="Dropout keeps 1 - p of the elements where legacy keeps p",
        why="tf.nn.dropout's second argument is keep_prob in 1.x and the rate in 2.x.",
        fix="Use rate = 1 - keep_prob.",
        criterion=keep_prob_rate,
        change=_inject_swapped_rate,
        faults=(Fault("keep_prob_as_rate", injection.in_replica_step(_RateFromKeepProb), dropping),),
        pitfall="R26",
    ),
    Cause(
        id="DROPOUT_STREAM",
        stage=stages.LOSS,
        title="dropout draws other masks",
        signature="The two sides' masks agree no more than by chance",
        why="The two sides draw from different random generators.",
        fix="Feed both sides the same masks, or set the rate to zero for the comparison.",
        criterion=dropout_stream,
        faults=(Fault("noise_of_another_seed", injection.in_replica_step(_OtherNoise), dropping),),
    ),
)
