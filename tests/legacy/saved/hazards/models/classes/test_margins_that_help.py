"""Margins of classes that make the true class easier, beside those that make it harder."""

import math

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.classes.margins_that_help import margins_that_help
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def added(margin):
    return lambda cosines, codes: cosines + margin * codes


def subtracted(cosines, codes):
    return cosines - 0.35 * codes


def of_angle(sign, chosen=False):
    """The cosine of the angle plus 0.5, or less 0.5."""

    def moved(cosines, codes):
        sines = tf.sqrt(1.0 - tf.square(cosines))
        across, along = math.sin(0.5) * sines, math.cos(0.5) * cosines
        own = along - across if sign > 0 else along + across
        own = tf.where(cosines > -0.9, own, cosines - 0.25) if chosen else own
        return codes * own + (1.0 - codes) * cosines

    return moved


def chosen(change):
    return lambda cosines, codes: codes * change(cosines) + (1.0 - codes) * cosines


@pytest.mark.parametrize(
    "margin, count",
    [
        (added(0.35), 1),
        (added(-0.35), 0),
        (subtracted, 0),
        (of_angle(-1), 1),
        (of_angle(-1, True), 1),
        (of_angle(1), 0),
        (of_angle(1, True), 0),
        (chosen(lambda cosines: cosines + 0.25), 1),
        (chosen(lambda cosines: cosines - 0.25), 0),
        (lambda cosines, codes: cosines + 0.25 * (1.0 - codes), 0),  # added to all others
    ],
)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_margins_of_the_wrong_sign_are_named(margin, count, is_sparse):
    def total():
        labels = minimized.fed("y", 8, dtype=tf.int32)
        features = tf.nn.l2_normalize(minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3), 1)
        cosines = features @ tf.nn.l2_normalize(minimized.variable("classes", 3, 5), 0)
        codes = tf.one_hot(labels, 5)
        logits = 64.0 * margin(cosines, codes)
        if is_sparse:
            return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        return tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits_v2(labels=codes, logits=logits))

    assert minimized.found(margins_that_help, total) == ["MARGIN_HELPS_CLASS"] * count


@pytest.mark.parametrize("of_labels, count", [(True, 1), (False, 0)])
def test_codes_of_other_numbers_are_no_margin(of_labels, count):
    def total():
        labels, other = (minimized.fed(name, 8, dtype=tf.int32) for name in ("y", "other"))
        logits = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 5)
        logits = logits + tf.one_hot(labels if of_labels else other, 5, 0.5)
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    assert minimized.found(margins_that_help, total) == ["MARGIN_HELPS_CLASS"] * count
