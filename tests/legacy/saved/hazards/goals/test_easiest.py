"""The hardest pairs and negatives of a batch, and the easiest ones."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.easiest import easiest_negatives, easiest_pairs
from tests.legacy.saved.hazards import minimized

FAR = 1e5


def pairs(positive, negative, hinge=lambda x: tf.maximum(x + 0.3, 0.0)):
    def loss():
        rows = minimized.fed("x", 6, 4) @ minimized.variable("w", 4, 3)
        distances = tf.sqrt(tf.reduce_sum(tf.square(rows[:, None] - rows[None]), -1) + 1e-12)
        y = minimized.fed("y", 6, dtype=tf.int32)
        same = tf.cast(tf.equal(y[:, None], y[None]), tf.float32)
        return tf.reduce_mean(hinge(positive(distances, same) - negative(distances, 1.0 - same)))

    return loss


def largest(distances, mask):
    return tf.reduce_max(distances * mask, 1)


def smallest(distances, mask):
    return tf.reduce_min(distances + FAR * (1.0 - mask), 1)


@pytest.mark.parametrize(
    "positive, negative, count", [(smallest, largest, 1), (largest, smallest, 0), (smallest, smallest, 0)]
)
def test_a_hinge_of_the_easiest_pairs_is_named(positive, negative, count):
    assert minimized.found(easiest_pairs, pairs(positive, negative)) == ["EASIEST_PAIRS"] * count
    soft = pairs(positive, negative, tf.nn.softplus)
    assert minimized.found(easiest_pairs, soft) == ["EASIEST_PAIRS"] * count


def entropies(labels):
    logits = tf.reshape(minimized.fed("x", 6, 4) @ minimized.variable("w", 4, 3), [6, 3])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def negatives(mask, choose):
    def loss():
        labels = minimized.fed("y", 6, dtype=tf.int32)
        losses, positive = entropies(labels), labels > 0
        count = tf.maximum(tf.reduce_sum(tf.cast(positive, tf.float32)), 1.0)
        return (tf.reduce_sum(losses * tf.cast(positive, tf.float32)) + choose(mask(losses, positive))) / count

    return loss


def smallest_of(losses):
    return -tf.reduce_sum(tf.nn.top_k(-losses, 3)[0])


def largest_of(losses):
    return tf.reduce_sum(tf.nn.top_k(losses, 3)[0])


@pytest.mark.parametrize(
    "mask, choose, count",
    [
        (lambda losses, positive: tf.where(positive, tf.fill([6], FAR), losses), smallest_of, 1),
        (lambda losses, positive: losses * tf.cast(~positive, tf.float32), largest_of, 0),
        (lambda losses, positive: losses, smallest_of, 0),  # small losses of all examples, whose labels are noisy
    ],
)
def test_negatives_with_the_smallest_losses_are_named(mask, choose, count):
    assert minimized.found(easiest_negatives, negatives(mask, choose)) == ["EASIEST_NEGATIVES"] * count


@pytest.mark.parametrize("has_positives, count", [(True, 1), (False, 0)])
def test_small_losses_of_the_valid_examples_alone_may_be_meant(has_positives, count):
    def loss():
        losses, valid = entropies(minimized.fed("y", 6, dtype=tf.int32)), minimized.fed("valid", 6) > 0.0
        smallest = smallest_of(tf.where(valid, losses, tf.fill([6], FAR)))
        return smallest + (tf.reduce_sum(losses * minimized.fed("positive", 6)) if has_positives else 0.0)

    assert minimized.found(easiest_negatives, loss) == ["EASIEST_NEGATIVES"] * count
