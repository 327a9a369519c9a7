"""Losses from which squares are subtracted, beside those with a bound or another sign."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.unbounded import subtracted_squares
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def found(loss):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        near, far = (v1.placeholder(tf.float32, [8, 4], name) @ w for name in ("near", "far"))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss(near, far), name="train")

    return [hazard.id for hazard in subtracted_squares(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def mean_square(values):
    return tf.reduce_mean(tf.square(values))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda near, far: mean_square(near) - mean_square(near - far), 1),
        (lambda near, far: tf.reduce_mean(tf.square(near) - tf.math.squared_difference(near, far) + 1.0), 1),
        (lambda near, far: tf.reduce_mean(tf.maximum(tf.square(near) - tf.square(near - far) + 1.0, 0.0)), 0),
        (lambda near, far: mean_square(near) - mean_square(tf.tanh(near - far)), 0),
        (lambda near, far: mean_square(near) + mean_square(near - far), 0),
        (lambda near, far: -tf.reduce_mean(tf.abs(near - v1.placeholder(tf.float32, [8, 3], "y"))), 1),
        (lambda near, far: tf.reduce_mean(tf.abs(near - v1.placeholder(tf.float32, [8, 3], "y"))), 0),
        (lambda near, far: mean_square(near) - tf.reduce_mean(tf.abs(tf.tanh(near))), 0),
        (lambda near, far: mean_square(near) - tf.reduce_mean((near - far) ** 2), 1),
        (lambda near, far: mean_square(near) - tf.reduce_mean(near * near), 1),
        (lambda near, far: mean_square(near) - tf.reduce_mean((near - far) * near), 0),  # of either sign
        (lambda near, far: mean_square(near) - tf.reduce_mean((near - far) ** 3), 0),
        (lambda near, far: mean_square(near) - mean_square(tf.stop_gradient(near - far)), 0),
        (lambda near, far: -tf.reduce_mean(tf.square(near - 1.0) / tf.square(tf.nn.softplus(far))), 1),
        (lambda near, far: tf.reduce_mean(tf.square(near - 1.0) / tf.square(tf.nn.softplus(far))), 0),
        (lambda near, far: -tf.reduce_mean(tf.square(near - 1.0) / far), 0),  # of either sign
    ],
)
def test_subtracted_squares_are_named(loss, count):
    assert found(loss) == ["LOSS_WITHOUT_BOUND"] * count


@pytest.mark.parametrize("loss", ["huber_loss", "absolute_difference", "mean_squared_error"])
@pytest.mark.parametrize("sign, count", [(-1.0, 1), (1.0, 0)])
def test_so_are_those_of_tf_losses(loss, sign, count):
    assert found(lambda near, far: sign * getattr(v1.losses, loss)(far, near)) == ["LOSS_WITHOUT_BOUND"] * count


def greater(x):
    return tf.reduce_mean(tf.maximum(0.25 * x, -0.75 * x))


def lesser(x, share=0.25):
    return tf.reduce_mean(tf.minimum(share * x, (share - 1.0) * x))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda near, far: lesser(far - near), 1),
        (lambda near, far: -greater(far - near), 1),
        (lambda near, far: greater(far - near), 0),
        (lambda near, far: -lesser(far - near), 0),
        (lambda near, far: tf.reduce_mean(tf.minimum(0.25 * (far - near), 0.5 * (far - near))), 0),
        (lambda near, far: mean_square(near) + lesser(tf.tanh(far - near)), 0),
    ],
)
def test_the_lesser_of_both_sides_of_an_error_is_named(loss, count):
    assert found(loss) == ["LOSS_WITHOUT_BOUND"] * count


SHARES = (0.1, 0.5, 0.9)


def chosen(x, where=tf.greater, shares=SHARES):
    shares = tf.constant(shares)
    return tf.reduce_mean(tf.where(where(x, 0.0), shares * x, (shares - 1.0) * x))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda near, far: lesser(far - near, tf.constant(SHARES)), 1),
        (lambda near, far: -lesser(far - near, tf.constant(SHARES)), 0),
        (lambda near, far: lesser(far - near, tf.constant((0.1, 0.5, 1.5))), 0),
        (lambda near, far: chosen(far - near, tf.less), 1),
        (lambda near, far: -chosen(far - near), 1),
        (lambda near, far: chosen(far - near), 0),
        (lambda near, far: -chosen(far - near, tf.less_equal), 0),
        (lambda near, far: mean_square(near) + chosen(tf.tanh(far - near), tf.less), 0),
    ],
)
def test_so_are_those_of_several_quantiles_and_those_that_a_where_chooses(loss, count):
    assert found(loss) == ["LOSS_WITHOUT_BOUND"] * count


def ratio(x, y, scale=1.0):
    return tf.math.log(scale / (tf.reduce_mean(tf.math.squared_difference(x, y), 1) + 1e-8))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda x, y: ratio(x, y), 1),
        (lambda x, y: -tf.math.log(tf.reduce_mean(tf.square(x - y))), 1),
        (lambda x, y: -ratio(x, y), 0),
        (lambda x, y: tf.math.log(tf.reduce_mean(tf.square(x - y)) + 1e-6), 0),  # a likelihood
        (lambda x, y: ratio(tf.sigmoid(x), y), 0),  # bounded
    ],
)
def test_the_logarithm_of_an_error_that_may_grow_without_end_is_named(loss, count):
    def build():
        w, x = v1.get_variable("w", [4, 3], use_resource=False), v1.placeholder(tf.float32, [8, 4], "x")
        total = tf.reduce_mean(loss(x @ w, v1.placeholder(tf.float32, [8, 3], "y")))
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    found = subtracted_squares(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["LOSS_WITHOUT_BOUND"] * count


def signal_over_error(x, y, projected):
    """Signal-to-noise ratios; of a projection of x on y, where they should not depend on the scale of x."""
    if projected:
        y = tf.reduce_sum(x * y, 1, keepdims=True) * y / (tf.reduce_sum(y**2, 1, keepdims=True) + 1e-8)
    return tf.math.log(tf.reduce_sum(y**2, 1) / (tf.reduce_sum((y - x) ** 2, 1) + 1e-8))


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda ratio: ratio, 1),
        (lambda ratio: 10.0 * ratio / 2.302585, 1),
        (lambda ratio: -ratio, 0),
        (lambda ratio: 10.0 * -ratio / 2.302585, 0),
    ],
)
def test_a_minimized_ratio_of_a_signal_and_an_error_is_named(loss, count, projected):
    def total():
        result = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)
        return tf.reduce_mean(loss(signal_over_error(result, minimized.fed("y", 8, 3), projected)))

    assert minimized.found(subtracted_squares, total) == ["LOSS_WITHOUT_BOUND"] * count


def test_a_ratio_of_distances_between_results_is_not_one_of_an_error():
    """As of parts of one class over parts of two classes, whichever a loss wants to be larger."""

    def total():
        results = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)
        near, far = (tf.reduce_sum((results[:4] - results[i : i + 4]) ** 2, 1) for i in (1, 4))
        return tf.reduce_mean(tf.math.log(near / (far + 1e-8)))

    assert minimized.found(subtracted_squares, total) == []


@pytest.mark.parametrize("by_noise, count", [(True, 0), (False, 1)])
def test_what_is_left_of_a_sum_without_one_of_its_terms_is_not_that_term(by_noise, count):
    """A policy's log-density of an action mu + e has the square of its noise alone."""

    def total():
        mean = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 2) + minimized.variable("b", 2)
        action = mean + tf.random.normal([8, 2]) if by_noise else minimized.fed("action", 8, 2)
        return tf.reduce_mean(-0.5 * tf.square(action - mean)) + tf.reduce_mean(tf.square(tf.tanh(mean)))

    assert minimized.found(subtracted_squares, total) == ["LOSS_WITHOUT_BOUND"] * count


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda m, h: tf.square(m) - tf.exp(h) - h, 1),
        (lambda m, h: tf.square(m) + tf.exp(h) - h, 0),
        (lambda m, h: tf.square(m) - tf.maximum(tf.reduce_mean(tf.exp(h) - h, 0), 0.125), 1),
        (lambda m, h: tf.square(m) + tf.maximum(tf.reduce_mean(tf.exp(h) - h, 0), 0.125), 0),
        (lambda m, h: tf.square(m) - tf.minimum(tf.reduce_mean(tf.exp(h) - h, 0), 8.0), 0),
        (lambda m, h: tf.square(m) + tf.maximum(tf.reduce_mean(h - tf.exp(h), 0), 0.125), 0),
        (lambda m, h: tf.square(m) - tf.exp(tf.tanh(h)), 0),
        (lambda m, h: tf.square(m) + tf.exp(-h) + h, 0),
    ],
)
def test_a_subtracted_exponential_of_a_layer_is_named(loss, count):
    def total():
        results = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 6) + minimized.variable("b", 6)
        return tf.reduce_mean(loss(*tf.split(results, 2, 1)))

    assert minimized.found(subtracted_squares, total) == ["LOSS_WITHOUT_BOUND"] * count


@pytest.mark.parametrize("sign, column, count", [(-1.0, 0, 1), (1.0, 0, 0)])
def test_a_subtracted_error_of_one_column_is_named(sign, column, count):
    def total():
        value = (minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 1) + minimized.variable("b", 1))[:, column]
        return sign * tf.reduce_mean(tf.square(minimized.fed("y", 8) - value))

    assert minimized.found(subtracted_squares, total) == ["LOSS_WITHOUT_BOUND"] * count


@pytest.mark.parametrize("weight, count", [(-10.0, 1), (10.0, 0)])
def test_a_subtracted_gradient_penalty_is_named(weight, count):
    def total():
        x = minimized.fed("x", 8, 4)
        scores = tf.nn.softplus(x @ minimized.variable("w", 4, 3)) @ minimized.variable("v", 3, 1)
        slopes = tf.sqrt(tf.reduce_sum(tf.square(tf.gradients(scores, [x])[0]), 1) + 1e-12)
        return tf.reduce_mean(scores) + weight * tf.reduce_mean(tf.square(slopes - 1.0))

    assert minimized.found(subtracted_squares, total) == ["LOSS_WITHOUT_BOUND"] * count


@pytest.mark.parametrize("weight, count", [(-0.01, 1), (0.01, 0)])
def test_a_subtracted_square_of_weights_is_named(weight, count):
    def total():
        w = minimized.variable("w", 4, 1)
        error = tf.reduce_mean(tf.abs(minimized.fed("x", 8, 4) @ w - minimized.fed("y", 8, 1)))
        return error + weight * tf.reduce_sum(tf.square(w))

    assert minimized.found(subtracted_squares, total) == ["LOSS_WITHOUT_BOUND"] * count


@pytest.mark.parametrize("is_model, count", [(False, 0), (True, 1)])
def test_a_square_that_no_variable_of_the_loss_moves_is_not(is_model, count):
    """A multiplier of a constraint follows the squared error up, whose weights another loss trains."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        multiplier = v1.get_variable("multiplier", [], use_resource=False)
        error = mean_square(v1.placeholder(tf.float32, [8, 4], "x") @ w)
        descent = v1.train.GradientDescentOptimizer(0.5)
        own = descent.minimize(multiplier * tf.stop_gradient(error) + error, var_list=[w])
        other = descent.minimize(-(error + multiplier), var_list=[w if is_model else multiplier])
        tf.group(own, other, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "multiplier"]))
    assert [hazard.id for hazard in subtracted_squares(whole)] == ["LOSS_WITHOUT_BOUND"] * count


def density(x, mean):
    """The logarithm of a mixture's density of two parts."""
    return tf.reduce_logsumexp(tf.stack([-0.5 * (x - mean) ** 2, -1.0 - 0.25 * (x - 2.0 * mean) ** 2], 2), 2)


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda x, mean, y: tf.reduce_mean(density(x, mean)), 1),
        (lambda x, mean, y: -tf.reduce_mean(density(x, mean)), 0),
        (lambda x, mean, y: tf.reduce_mean(y * (x - mean) ** 2 + (1.0 - y) * (1.0 - tf.abs(x - mean))), 1),
        (lambda x, mean, y: tf.reduce_mean(y * (x - mean) ** 2 + (1.0 - y) * tf.nn.relu(1.0 - tf.abs(x - mean))), 0),
        (lambda x, mean, y: tf.reduce_mean(y * (1.0 - tf.abs(x - mean))), 0),  # y may be negative
        (lambda x, mean, y: tf.reduce_mean(-(((x - mean) / 2.0) ** 2)), 1),
        (lambda x, mean, y: tf.reduce_mean((x - mean) ** 2 - 0.5 * tf.reduce_mean(x - mean) ** 2), 0),
    ],
)
def test_terms_behind_shares_and_log_sums_have_their_sign(loss, count):
    def total():
        mean = minimized.fed("near", 8, 4) @ minimized.variable("w", 4, 3)
        return loss(minimized.fed("x", 8, 3), mean, minimized.fed("y", 8, 3))

    assert minimized.found(subtracted_squares, total) == ["LOSS_WITHOUT_BOUND"] * count


def pairs(distance, drawn, weight=0.5):
    return -weight * tf.reduce_mean(distance(drawn[:, :, None] - drawn[:, None]))


def norm(x):
    return tf.sqrt(tf.reduce_sum(tf.square(x), -1) + 1e-6)


@pytest.mark.parametrize("distance", [tf.abs, norm])
@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda drawn, y, size: tf.reduce_mean(size(drawn - y[:, None])) + pairs(size, drawn), 0),
        (lambda drawn, y, size: tf.reduce_mean(tf.nn.softplus(drawn - y[:, None])) + pairs(size, drawn), 1),
        (lambda drawn, y, size: pairs(size, drawn) - tf.reduce_mean(size(drawn - y[:, None])), 1),
    ],
)
def test_distances_among_results_are_subtracted_beside_those_to_labels(distance, loss, count):
    """As of an energy distance, which has a bound, since results far apart are far from the label."""

    def total():
        drawn = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)
        return loss(drawn, minimized.fed("y", 8), distance)

    assert minimized.found(subtracted_squares, total) == ["LOSS_WITHOUT_BOUND"] * count


@pytest.mark.parametrize("rate, count", [(-0.01, 1), (0.01, 0)])
def test_absolute_values_of_weights_that_are_subtracted_are_named(rate, count):
    def total():
        w = minimized.variable("w", 4, 3)
        return tf.reduce_mean((minimized.fed("x", 8, 4) @ w) ** 2) + rate * tf.reduce_sum(tf.abs(w))

    assert minimized.found(subtracted_squares, total) == ["LOSS_WITHOUT_BOUND"] * count


@pytest.mark.parametrize("root, count", [(lambda squares: tf.sqrt(squares + 1e-6), 1), (tf.nn.softplus, 0)])
def test_a_distance_of_other_pairs_without_a_hinge_is_named(root, count):
    def total():
        w, same = minimized.variable("w", 4, 3), minimized.fed("same", 8)
        one, other = (minimized.fed(name, 8, 4) @ w for name in ("one", "other"))
        squares = tf.reduce_sum((one - other) ** 2, 1)
        return tf.reduce_mean(same * squares + (1.0 - same) * (1.0 - root(squares)))

    assert minimized.found(subtracted_squares, total) == ["LOSS_WITHOUT_BOUND"] * count
