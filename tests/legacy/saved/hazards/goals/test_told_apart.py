"""Classifiers of copies of the same examples, and of copies that differ."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.told_apart import equal_examples_told_apart
from tests.legacy.saved.hazards.minimized import fed, found, variable

BY_COPY, BY_EXAMPLE = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]


def classified(copies, labels):
    """A program of the class of `copies(x)`, of two copies of three examples."""

    def total():
        logits = copies(fed("x", 3, 4)) @ variable("w", 4, 3)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    return found(equal_examples_told_apart, total)


@pytest.mark.parametrize(
    "copies, labels, count",
    [
        (lambda x: tf.concat([x, x], 0), BY_COPY, 1),
        (lambda x: tf.concat([x[:, ::-1], x[:, ::-1]], 0) / 255.0, BY_COPY, 1),
        (lambda x: tf.tile(x, [2, 1]), BY_COPY, 1),
        (lambda x: tf.concat([x, x], 0), BY_EXAMPLE, 0),
        (lambda x: tf.concat([x, x[:, ::-1]], 0), BY_COPY, 0),
        (lambda x: tf.concat([x, x], 0) * tf.constant([[1.0]] * 3 + [[-1.0]] * 3), BY_COPY, 0),
    ],
)
def test_copies_with_different_labels_are_named(copies, labels, count):
    assert classified(copies, labels) == ["EQUAL_EXAMPLES_TOLD_APART"] * count
