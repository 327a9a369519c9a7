"""Cross entropies behind masks that keep the words, or one label alone."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.kept_labels import losses_of_one_label
from tests.legacy.saved.hazards.minimized import fed, found, variable


def masked(mask, further=lambda entropy: 0.0):
    """The mean of a cross entropy of words times `mask(labels)`, and of `further(entropy)`."""

    def loss():
        labels = fed("labels", 8, dtype=tf.int32)
        logits = fed("x", 8, 4) @ variable("w", 4, 6)
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        kept = tf.cast(mask(labels), tf.float32)
        return tf.reduce_sum(entropy * kept) / tf.reduce_sum(kept) + further(entropy)

    return loss


@pytest.mark.parametrize(
    "loss, count",
    [
        (masked(lambda labels: tf.equal(labels, 0)), 1),
        (masked(lambda labels: tf.math.logical_not(tf.not_equal(labels, 0))), 1),
        (masked(lambda labels: 1.0 - tf.cast(tf.not_equal(labels, 0), tf.float32)), 1),
        (masked(lambda labels: tf.not_equal(labels, 0)), 0),
        (masked(lambda labels: 1.0 - tf.cast(tf.equal(labels, 0), tf.float32)), 0),
        (masked(lambda labels: tf.equal(labels, 0), tf.reduce_mean), 0),  # counted twice there
        (masked(lambda labels: tf.equal(fed("kind", 8, dtype=tf.int32), 0)), 0),
    ],
)
def test_a_mask_that_keeps_one_label_is_named(loss, count):
    assert found(losses_of_one_label, loss) == ["LOSS_OF_ONE_LABEL"] * count
