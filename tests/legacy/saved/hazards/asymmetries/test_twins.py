"""Networks that differ in their weights alone: activations of one side, critics, and masks of one column."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries.activations import activations_of_one_side
from legacy.saved.hazards.asymmetries.idle_masks import masks_of_shifted_keys, masks_without_effect
from legacy.saved.hazards.asymmetries.twin_critics import larger_of_two_critics
from tests.legacy.saved.hazards.minimized import fed, found, found_by_analysis, variable

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "student, teacher, deep, count",
    [
        (tf.nn.softmax, tf.identity, False, 1),
        (tf.identity, tf.sigmoid, False, 1),
        (tf.nn.softmax, tf.nn.softmax, False, 0),
        (tf.identity, tf.identity, False, 0),
        (tf.nn.softmax, tf.identity, True, 0),  # another network
    ],
)
def test_an_activation_of_one_side_is_named(student, teacher, deep, count):
    def total():
        x, given = fed("x", 8, 4), fed("x", 8, 4)
        labels = x @ variable("u", 4, 3)
        labels = tf.tanh(labels) @ variable("v", 3, 3) if deep else labels
        return tf.reduce_mean(tf.square(student(x @ variable("w", 4, 3)) - tf.stop_gradient(teacher(labels)))) + (
            tf.reduce_mean(tf.square(given @ variable("t", 4, 3)))
        )

    assert found(activations_of_one_side, total) == ["ACTIVATION_OF_ONE_SIDE"] * count


@pytest.mark.parametrize(
    "choose, stop, count",
    [
        (tf.maximum, tf.stop_gradient, 1),
        (tf.minimum, tf.stop_gradient, 0),
        (tf.maximum, tf.identity, 0),
        (lambda one, other: tf.maximum(one, 0.0), tf.stop_gradient, 0),
    ],
)
def test_the_larger_of_two_critics_is_named(choose, stop, count):
    def total():
        later = fed("s2", 8, 4)
        one, other = (tf.reduce_sum(later @ variable(name, 4, 1), 1) for name in ("first", "second"))
        target = stop(fed("r", 8) + 0.99 * (1.0 - fed("done", 8)) * (choose(one, other) - 0.2))
        return tf.reduce_mean(tf.square(tf.reduce_sum(fed("s", 8, 4) @ variable("w", 4, 1), 1) - target))

    assert found(larger_of_two_critics, total) == ["LARGER_OF_TWO_CRITICS"] * count


@pytest.mark.parametrize("axis, trained, count", [(2, False, 1), (1, False, 0), (2, True, 0)])
def test_a_mask_of_queries_is_named(axis, trained, count):
    def total():
        x = fed("x", 2, 5, 4) @ variable("w", 4, 4)
        words = tf.cast(fed("words", 2, 5, dtype=tf.int32) > 0, tf.float32)
        term = -1e9 * (1.0 - tf.expand_dims(words, axis))
        term = tf.reduce_sum(x, 2, keepdims=True) if trained else term
        return tf.reduce_mean(tf.square(tf.matmul(tf.nn.softmax(tf.matmul(x, x, transpose_b=True) + term), x)))

    assert found_by_analysis(masks_without_effect, total) == ["MASK_WITHOUT_EFFECT"] * count


@pytest.mark.parametrize(
    "layer, count",
    [
        (lambda x: x @ variable("k", 4, 4) + variable("b", 4), 1),
        (lambda x: (tf.tanh(x) + variable("b", 4)) @ variable("k", 4, 4), 1),
        (lambda x: (x + variable("b", 4)) * tf.floor(0.5 + tf.random.uniform([2, 5, 4])), 1),
        (
            lambda x: tf.nn.batch_normalization(x, *tf.nn.moments(x, [2], keepdims=True), variable("b", 4), None, 1e-6),
            1,
        ),
        (lambda x: x + (tf.tanh(x) @ variable("k", 4, 4) + variable("b", 4)), 1),
        (lambda x: x @ variable("k", 4, 4), 0),
        (lambda x: tf.nn.relu(x @ variable("k", 4, 4) + variable("b", 4)), 0),
        (lambda x: (x @ variable("k", 4, 4) + variable("b", 4)) * tf.sign(tf.abs(x)), 0),
    ],
)
def test_a_mask_of_keys_with_an_offset_is_named(layer, count):
    def total():
        x = fed("x", 2, 5, 4)
        keys = layer(x)
        scores = tf.matmul(x @ variable("q", 4, 4), keys, transpose_b=True)
        mask = tf.tile(tf.sign(tf.abs(tf.reduce_sum(keys, -1)))[:, None, :], [1, 5, 1]) * tf.ones([2, 5, 5])
        scores = v1.where(tf.equal(mask, 0), tf.ones_like(scores) * -1e9, scores)
        return tf.reduce_mean(tf.square(tf.matmul(tf.nn.softmax(scores), x)))

    assert found(masks_of_shifted_keys, total) == ["MASK_WITHOUT_EFFECT"] * count
