"""Norms of gradients, and of gradients and weights together, by which two towers' gradients are clipped."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.penalties.counts import regularization
from legacy.saved.hazards.penalties.norms_with_weights import clipped_by_norms_with_weights
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, variable

v1 = tf.compat.v1


def named(clip, penalty=0.0):
    """Hazards of a program whose gradients `clip` makes of (gradient, variable) pairs."""

    def build():
        w, b = variable("w", 4, 3), variable("b", 3)
        loss = tf.reduce_mean(tf.square(fed("x", 8, 4) @ w + b - fed("y", 8, 3)))
        loss += penalty * (tf.nn.l2_loss(w) + tf.nn.l2_loss(b)) if penalty else 0.0
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        pairs = optimizer.compute_gradients(loss)
        clipped = clip([gradient for gradient, _ in pairs], [read for _, read in pairs])
        optimizer.apply_gradients([(gradient, read) for gradient, (_, read) in zip(clipped, pairs)], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "b"]))
    found = [*clipped_by_norms_with_weights(whole), *regularization(whole)]
    return [hazard.id for hazard in found]


def by(norm):
    """Clips gradients by a norm of (gradients, variables)."""
    return lambda gradients, reads: tf.clip_by_global_norm(gradients, 5.0, use_norm=norm(gradients, reads))[0]


def global_norm(tensors):
    return tf.linalg.global_norm(tensors)


def by_hand(tensors):
    return tf.sqrt(2.0 * tf.add_n([tf.nn.l2_loss(tensor) for tensor in tensors]))


@pytest.mark.parametrize(
    "clip",
    [
        by(lambda gradients, reads: global_norm([tf.stack(pair) for pair in zip(gradients, reads)])),
        by(lambda gradients, reads: global_norm([*gradients, *reads])),
        by(lambda gradients, reads: by_hand([*gradients, *reads])),
        lambda gradients, reads: tf.clip_by_global_norm([*gradients, *reads], 5.0)[0][:2],
    ],
)
def test_a_norm_with_weights_in_it_is_named(clip):
    assert named(clip) == ["CLIPPED_BY_NORM_OF_WEIGHTS"]


def trusted(gradients, reads):
    """Gradients times the ratio of norms, as of LARS."""
    return [g * tf.norm(w) / (tf.norm(g) + 1e-6) for g, w in zip(gradients, reads)]


def decayed(gradients, reads):
    return tf.clip_by_global_norm([g + 0.001 * w for g, w in zip(gradients, reads)], 5.0)[0]


def shown(gradients, reads):
    v1.summary.scalar("norm", global_norm([*gradients, *reads]))
    return gradients


@pytest.mark.parametrize(
    "clip",
    [
        by(lambda gradients, reads: global_norm(gradients)),
        by(lambda gradients, reads: by_hand(gradients)),
        by(lambda gradients, reads: global_norm(gradients) / (1.0 + global_norm(reads))),
        trusted,
        decayed,
        shown,
    ],
)
def test_other_norms_are_not(clip):
    assert named(clip) == []


def test_penalties_beside_a_clipped_norm_are_not():
    assert named(by(lambda gradients, reads: global_norm(gradients)), penalty=0.01) == []
