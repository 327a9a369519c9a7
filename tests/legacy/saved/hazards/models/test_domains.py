"""Roots and angles outside of their domain, beside safe ones."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.domains import (
    angles_at_one,
    halved_ranges,
    probabilities_without_softmax,
    roots_of_negative_numbers,
    sines_at_one,
)
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, loss):
    def build():
        w, b = v1.get_variable("w", [4, 3], use_resource=False), v1.get_variable("b", [3], use_resource=False)
        x = v1.placeholder(tf.float32, [8, 4], "x")
        total = tf.reduce_mean(loss(tf.nn.bias_add(x @ w, b), x, w))
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w", "b"])))]


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda y, x, w: tf.math.log(tf.clip_by_value(y, 1e-7, 1 - 1e-7)), 1),
        (lambda y, x, w: tf.math.log(tf.clip_by_value(y, 1e-7, 1 - 1e-7) + 1e-7), 1),
        (lambda y, x, w: tf.math.log(tf.clip_by_value(y / tf.reduce_sum(y, -1, True), 1e-7, 1 - 1e-7)), 1),
        (lambda y, x, w: tf.math.log(tf.clip_by_value(tf.nn.softmax(y), 1e-7, 1 - 1e-7)), 0),
        (lambda y, x, w: tf.math.log(tf.clip_by_value(tf.sigmoid(y), 1e-7, 1 - 1e-7) + 1e-7), 0),
        (lambda y, x, w: tf.math.log(tf.clip_by_value(y, 1e-7, 1e7) + 1.0), 0),  # of a number, not a probability
    ],
)
def test_logits_that_are_clipped_as_probabilities_are_named(loss, count):
    assert found(probabilities_without_softmax, loss) == ["LOGITS_FOR_PROBABILITIES"] * count


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda y, x, w: tf.sqrt(y[:, :2]), 1),
        (lambda y, x, w: tf.sqrt(tf.reshape(y, [2, 4, 3])[..., 1:]), 1),
        (lambda y, x, w: tf.math.log(y), 1),
        (lambda y, x, w: tf.sqrt(y + 1e-6), 1),
        (lambda y, x, w: tf.sqrt(y + 0.0), 1),
        (lambda y, x, w: tf.sqrt(y + 1.0), 0),  # an offset
        (lambda y, x, w: tf.math.log(y + 1e-8), 1),
        (lambda y, x, w: tf.math.log(y + 1.0), 0),  # of what is above -1, perhaps
        (lambda y, x, w: tf.math.log(tf.reduce_sum(y * tf.one_hot(tf.argmax(x, 1) % 3, 3), 1)), 1),
        (lambda y, x, w: tf.math.log(tf.reduce_sum(tf.nn.softmax(y) * tf.one_hot(tf.argmax(x, 1) % 3, 3), 1)), 0),
        (lambda y, x, w: tf.math.log(tf.reduce_sum(tf.exp(y), 1)), 0),
        (lambda y, x, w: tf.math.log(tf.reduce_sum(y * tf.sigmoid(y), 1)), 0),  # not known
        (lambda y, x, w: tf.math.log(tf.reduce_sum(tf.exp(-tf.square(x[:, :3] / y)) / (y * 2.5), 1) + 1e-8), 1),
        (lambda y, x, w: tf.math.log(tf.exp(-tf.square(x[:, :3])) * tf.nn.softmax(x[:, :3]) / y), 1),
        (lambda y, x, w: tf.math.log(tf.exp(-tf.square(x[:, :3] / tf.exp(y))) / (tf.exp(y) * 2.5) + 1e-8), 0),
        (lambda y, x, w: tf.math.log(1.0 / tf.square(y) + 1e-8), 0),
        (lambda y, x, w: tf.math.log(x[:, :3] / y), 0),  # data, which may be below 0 together with the results
        (lambda y, x, w: tf.sqrt(tf.nn.softplus(y)), 0),
        (lambda y, x, w: tf.sqrt(tf.maximum(y, 1e-6)), 0),
        (lambda y, x, w: tf.sqrt(tf.square(y) + 1e-6), 0),
        (lambda y, x, w: tf.square(y) + tf.stop_gradient(tf.sqrt(y)), 0),
        (lambda y, x, w: tf.math.log(tf.nn.softmax(y) @ tf.transpose(w)), 0),  # a matrix of probabilities
    ],
)
def test_roots_of_what_a_layer_gives_are_named(loss, count):
    assert found(roots_of_negative_numbers, loss) == ["ROOT_OF_NEGATIVE"] * count


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda y, x, w: tf.tanh(tf.nn.relu(y)), 1),
        (lambda y, x, w: tf.sigmoid(tf.reshape(tf.identity(tf.nn.relu6(y)), [-1])), 1),
        (lambda y, x, w: tf.nn.relu(tf.tanh(y)), 0),
        (lambda y, x, w: tf.tanh(tf.nn.relu(y) - 1.0), 0),
        (lambda y, x, w: y * tf.tanh(tf.nn.softplus(y)), 0),
        (lambda y, x, w: tf.tanh(tf.nn.leaky_relu(y)), 0),
        (lambda y, x, w: tf.sigmoid(tf.nn.relu(y) @ tf.transpose(w)), 0),  # a layer between
        (lambda y, x, w: y + tf.stop_gradient(tf.tanh(tf.nn.relu(y))), 0),
    ],
)
def test_a_tanh_of_what_is_never_below_zero_is_named(loss, count):
    assert found(halved_ranges, loss) == ["RANGE_HALVED"] * count


def cosines(x, w):
    return tf.nn.l2_normalize(x, 1) @ tf.nn.l2_normalize(w, 0)


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda y, x, w: tf.cos(tf.acos(cosines(x, w)) + 0.5), 1),
        (lambda y, x, w: tf.acos(tf.clip_by_value(cosines(x, w), -0.999, 0.999)), 0),
        (lambda y, x, w: tf.acos(0.999 * cosines(x, w)), 0),
        (lambda y, x, w: tf.square(y) + tf.stop_gradient(tf.acos(cosines(x, w))), 0),
    ],
)
def test_angles_of_cosines_that_may_be_one_are_named(loss, count):
    assert found(angles_at_one, loss) == ["ANGLE_AT_ONE"] * count


def margin(cosine, sine):
    return 64.0 * (0.88 * cosine - 0.48 * sine)


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda c: margin(c, tf.sqrt(1.0 - tf.square(c))), 1),
        (lambda c: margin(c, tf.sqrt(1.0 - c * c)), 1),
        (lambda c: margin(c, tf.sqrt(1.0 - tf.square(c) + 1e-7)), 0),
        (lambda c: margin(c, tf.sqrt(1.0 + 1e-7 - tf.square(c))), 0),
        (lambda c: margin(c, tf.sqrt(tf.maximum(1.0 - tf.square(c), 1e-7))), 0),
        (lambda c: margin(c, tf.sqrt(1.0 - tf.square(tf.clip_by_value(c, -0.999, 0.999)))), 0),
        (lambda c: margin(c, tf.stop_gradient(tf.sqrt(1.0 - tf.square(c)))), 0),
        (lambda c: margin(c, tf.sqrt(1.0 - tf.square(tf.tanh(c)))), 0),
    ],
)
def test_sines_of_cosines_that_may_be_one_are_named(loss, count):
    assert found(sines_at_one, lambda y, x, w: loss(cosines(x, w))) == ["ANGLE_AT_ONE"] * count
