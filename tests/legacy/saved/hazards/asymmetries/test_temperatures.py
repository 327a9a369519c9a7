"""Distillation with a temperature on both sides, and on one."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries.temperatures import temperatures_of_one_side
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def distillation(teacher, student, own=False):
    def total():
        x, w, u = fed("x", 8, 4), variable("w", 4, 3), variable("u", 4, 3)
        labels = tf.stop_gradient(tf.nn.softmax(teacher(x @ (w if own else u))))
        logits = student(x @ w)
        return tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))

    return found(temperatures_of_one_side, total)


@pytest.mark.parametrize(
    "teacher, student, count",
    [
        (lambda h: h, lambda h: h / 4.0, 1),
        (lambda h: h / 4.0, lambda h: h, 1),
        (lambda h: 0.25 * h, lambda h: h, 1),
        (lambda h: h / 4.0, lambda h: h / 4.0, 0),
        (lambda h: h, lambda h: h, 0),
        (lambda h: h / 0.5, lambda h: h, 0),  # sharpened labels
        (lambda h: h / 0.5, lambda h: h / 0.9, 0),
        (lambda h: h / 4.0, lambda h: tf.nn.softmax(h / 4.0), 0),
    ],
)
def test_a_temperature_of_one_side_is_named(teacher, student, count):
    assert distillation(teacher, student) == ["TEMPERATURE_OF_ONE_SIDE"] * count


def test_labels_of_the_same_weights_are_not():
    assert distillation(lambda h: h, lambda h: h / 4.0, own=True) == []
