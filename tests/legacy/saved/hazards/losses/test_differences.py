"""A tensor that is subtracted from itself, or subtracted and added again, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.differences import differences_of_one, differences_undone
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "other, count",
    [(tf.identity, 1), (tf.stop_gradient, 1), (tf.nn.relu, 0), (lambda anchor: tf.roll(anchor, 1, 0), 0)],
)
def test_a_difference_of_a_result_and_itself_is_named(other, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        anchor = v1.placeholder(tf.float32, [2, 4], "x") @ w
        loss = tf.reduce_mean(tf.square(anchor - other(anchor))) + tf.reduce_mean(anchor)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = differences_of_one(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["DIFFERENCE_OF_ONE"] * count


@pytest.mark.parametrize(
    "other, count",
    [
        (lambda model, x, y: model(x), 1),
        (lambda model, x, y: tf.identity(model(x)), 1),
        (lambda model, x, y: model(y), 0),
        (lambda model, x, y: model(tf.roll(x, 1, 0)), 0),
        (lambda model, x, y: tf.stop_gradient(model(x)), 1),
        (lambda model, x, y: tf.stop_gradient(model(y)), 0),
        (lambda model, x, y: model(x + v1.random_normal([2, 4])), 0),
        (lambda model, x, y: tf.nn.relu(model(x)), 0),
    ],
)
def test_a_result_that_is_computed_twice_of_the_same_data_is_one(other, count):
    def loss():
        w, x, y = minimized.variable("w", 4, 3), minimized.fed("x", 2, 4), minimized.fed("y", 2, 4)
        model = lambda given: tf.tanh(given @ w)  # noqa: E731
        return tf.reduce_mean(tf.square(model(x) - other(model, x, y))) + tf.reduce_mean(model(x))

    assert minimized.found(differences_of_one, loss) == ["DIFFERENCE_OF_ONE"] * count


@pytest.mark.parametrize(
    "of_difference, count",
    [
        (tf.square, 1),
        (lambda d: d * tf.constant([[1.0, 2.0, 3.0]]), 0),  # hands a gradient on
        (lambda d: tf.square(d) + d, 0),
        (lambda d: tf.square(d + 1.0), 0),
    ],
)
def test_a_difference_from_a_stopped_copy_has_no_gradient_if_it_is_squared(of_difference, count):
    def loss():
        y = tf.nn.softmax(minimized.fed("x", 2, 4) @ minimized.variable("w", 4, 3))
        return tf.reduce_mean(of_difference(y - tf.stop_gradient(y))) + tf.reduce_mean(y)

    assert minimized.found(differences_of_one, loss) == ["DIFFERENCE_OF_ONE"] * count


@pytest.mark.parametrize(
    "estimate, count",
    [
        (lambda z, q: z + (q - z), 1),
        (lambda z, q: (q - z) + tf.identity(z), 1),
        (lambda z, q: z + tf.stop_gradient(q - z), 0),
        (lambda z, q: z + (q - tf.stop_gradient(z)), 0),
        (lambda z, q: z + 0.5 * (q - z), 0),
        (lambda z, q: q + (q - z), 0),
    ],
)
def test_a_straight_through_estimate_without_stop_gradient_is_named(estimate, count):
    def loss():
        z = minimized.fed("x", 2, 4) @ minimized.variable("w", 4, 3)
        q = tf.gather(minimized.variable("codes", 5, 3), tf.argmax(z, 1))
        return tf.reduce_mean(tf.square(estimate(z, q) - 1.0)) + tf.reduce_mean(z)

    assert minimized.found(differences_undone, loss) == ["DIFFERENCE_UNDONE"] * count
