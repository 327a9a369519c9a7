"""Distillations that give a cross entropy a teacher's logits, or their softmax."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.logits_for_labels import labels_that_are_logits
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def distilled(labels, has_bias=True):
    def total():
        x = fed("x", 8, 4)
        teacher = x @ v1.get_variable("teacher", [4, 3], trainable=False, use_resource=False)
        if has_bias:
            teacher += v1.get_variable("bias", [3], trainable=False, use_resource=False)
        logits = x @ variable("student", 4, 3)
        given = tf.stop_gradient(labels(teacher))
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=given, logits=logits))

    return found(labels_that_are_logits, total)


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(
    "labels, count",
    [
        (lambda logits: logits, 1),
        (lambda logits: logits / 4.0, 1),
        (lambda logits: tf.nn.softmax(logits / 4.0), 0),
        (lambda logits: tf.one_hot(tf.argmax(logits, 1), 3), 0),
    ],
)
def test_logits_of_a_teacher_for_labels_are_named(labels, has_bias, count):
    assert distilled(labels, has_bias) == ["LOGITS_FOR_LABELS"] * count


def test_labels_that_are_fed_are_not():
    assert distilled(lambda logits: fed("y", 8, 3)) == []
