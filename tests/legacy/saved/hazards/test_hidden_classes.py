"""Accuracies of hidden units, and those of logits and of what is like them."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.hidden_classes import classes_of_hidden_units
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def entropy(labels, logits):
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def named(scores, activation=tf.nn.relu, last=lambda logits: logits, further=lambda hidden, labels: 0.0, other=False):
    """Hazards of an accuracy.

    Args:
      scores: what the accuracy takes the argmax of, a function of (hidden units, logits).
      activation: of the hidden units.
      last: makes the logits of the loss of those of the model.
      further: a term of the loss, of (hidden units, labels).
      other: whether the accuracy has other labels.
    """

    def loss():
        labels = fed("labels", 8, 3)
        hidden = activation(fed("x", 8, 4) @ variable("hidden", 4, 3))
        logits = hidden @ variable("out", 3, 3)
        true = fed("concepts", 8, 3) if other else labels
        right = tf.equal(tf.argmax(scores(hidden, logits), 1), tf.argmax(true, 1))
        v1.summary.scalar("accuracy", tf.reduce_mean(tf.cast(right, tf.float32)))
        return entropy(labels, last(logits)) + further(hidden, labels)

    return found(classes_of_hidden_units, loss)


@pytest.mark.parametrize("activation", [tf.nn.relu, tf.tanh, tf.sigmoid])
def test_the_largest_hidden_unit_is_no_class(activation):
    assert named(lambda hidden, logits: hidden, activation) == ["CLASS_OF_HIDDEN_UNITS"]


def test_classes_that_are_numbers():
    def loss():
        labels = fed("labels", 8, dtype=tf.int64)
        hidden = tf.nn.relu(fed("x", 8, 4) @ variable("hidden", 4, 3))
        v1.summary.scalar("right", tf.reduce_sum(tf.cast(tf.math.in_top_k(labels, hidden, 1), tf.float32)))
        logits = hidden @ variable("out", 3, 3)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    assert found(classes_of_hidden_units, loss) == ["CLASS_OF_HIDDEN_UNITS"]


@pytest.mark.parametrize(
    "options",
    [
        {"scores": lambda hidden, logits: logits},
        {"scores": lambda hidden, logits: tf.nn.softmax(logits)},
        {"scores": lambda hidden, logits: tf.nn.relu(logits), "last": tf.nn.relu},
        {"scores": lambda hidden, logits: hidden, "activation": tf.nn.softmax},
        {"scores": lambda hidden, logits: hidden, "further": lambda hidden, labels: entropy(labels, hidden)},
        {"scores": lambda hidden, logits: hidden, "other": True},
    ],
    ids=["logits", "probabilities", "activated logits", "noisy labels", "a head halfway", "concepts"],
)
def test_logits_and_what_is_like_them(options):
    assert named(**options) == []
