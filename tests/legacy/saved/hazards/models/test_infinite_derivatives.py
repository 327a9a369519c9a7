"""Roots of distances that are 0 and logarithms behind a where, beside safe ones."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.infinite_derivatives import (
    infinite_behind_where,
    losses_that_are_not_numbers,
    roots_of_zero,
)
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, loss):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        x = v1.placeholder(tf.float32, [8, 4], "x")
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss(x @ w)), name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def squares(a, b):
    product = tf.matmul(a, b, transpose_b=True)
    return tf.reduce_sum(tf.square(a), 1)[:, tf.newaxis] - 2.0 * product + tf.reduce_sum(tf.square(b), 1)[tf.newaxis, :]


def squares_by_diagonal(a, others=None):
    """Squared distances of examples, whose own squares are the diagonal of the products."""
    product = tf.matmul(a, a, transpose_b=True)
    own = tf.linalg.tensor_diag_part(product if others is None else tf.matmul(others, others, transpose_b=True))
    return own[tf.newaxis, :] - 2.0 * product + own[:, tf.newaxis]


@pytest.mark.parametrize(
    "loss",
    [
        lambda e: tf.sqrt(squares(e, e)),
        lambda e: tf.sqrt(tf.maximum(squares(e, e), 0.0)),
        lambda e: tf.sqrt(tf.maximum(squares_by_diagonal(e), 0.0)),
    ],
)
def test_the_root_of_distances_to_themselves_is_named(loss):
    assert found(roots_of_zero, loss) == ["ROOT_OF_ZERO"]


@pytest.mark.parametrize(
    "loss",
    [
        lambda e: tf.sqrt(tf.maximum(squares(e, e), 1e-12)),
        lambda e: tf.sqrt(squares(e, e) + 1e-12),
        lambda e: tf.sqrt(squares(e[:4], e[4:])),
        lambda e: tf.sqrt(squares_by_diagonal(e) + 1e-16 * tf.cast(tf.equal(squares_by_diagonal(e), 0.0), tf.float32)),
        lambda e: tf.sqrt(squares_by_diagonal(e, others=e + 1.0)),  # the diagonal of another product
        lambda e: squares(e, e) + 0.0 * tf.stop_gradient(tf.sqrt(squares(e, e))),
    ],
)
def test_roots_with_something_added_or_of_other_examples_are_not(loss):
    assert found(roots_of_zero, loss) == []


def pairs(distance):
    """The hazards of a loss of distances between the outputs of one network for two inputs, and of w itself."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        a, b = (v1.placeholder(tf.float32, [8, 4], name) for name in "ab")
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(distance(a @ w, b @ w, w)), name="train")

    return [hazard.id for hazard in roots_of_zero(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


@pytest.mark.parametrize(
    "distance, count",
    [
        (lambda a, b, w: tf.sqrt(tf.reduce_sum(tf.square(a - b), 1)), 1),
        (lambda a, b, w: tf.sqrt(tf.reduce_sum(tf.math.squared_difference(a, b), 1, keepdims=True)), 1),
        (lambda a, b, w: tf.norm(a - b, axis=1), 1),
        (lambda a, b, w: tf.sqrt(tf.reduce_sum(tf.square(a - b), 1) + 1e-6), 0),
        (lambda a, b, w: tf.sqrt(tf.maximum(tf.reduce_sum(tf.square(a - b), 1), 1e-6)), 0),
        (lambda a, b, w: tf.sqrt(tf.reduce_sum(tf.square(a), 1)), 0),  # a norm, such as that of a gradient
        (lambda a, b, w: tf.sqrt(tf.reduce_sum(tf.square(a - 1.0), 1)), 0),
    ],
)
def test_the_root_of_the_distance_of_two_outputs_of_one_network_is_named(distance, count):
    assert pairs(distance) == ["ROOT_OF_ZERO"] * count


def distance(a, b):
    return tf.sqrt(tf.reduce_sum(tf.square(a - b), 1))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda e: distance(*tf.unstack(tf.reshape(e, [-1, 2, 3]), 2, 1)), 1),
        (lambda e: distance(*tf.split(e, 2, 0)), 1),
        (lambda e: distance(e[0::2], e[1::2]), 1),
        (lambda e: distance(*tf.split(tf.concat([e, e], 1), 2, 1)), 0),  # features, not rows
        (lambda e: tf.sqrt(tf.reduce_sum(tf.square(e[0::2] - e[1::2]), 1) + 1e-8), 0),
    ],
)
def test_the_root_of_the_distance_of_two_rows_of_one_batch_is_named(loss, count):
    assert found(roots_of_zero, loss) == ["ROOT_OF_ZERO"] * count


@pytest.mark.parametrize("function", [tf.math.log, tf.sqrt])
def test_a_function_behind_a_where_is_named(function):
    def loss(e):
        x = tf.nn.relu(e)
        return v1.where(x > 0.0, function(x), tf.zeros_like(x))

    assert found(infinite_behind_where, loss) == ["INFINITE_BEHIND_WHERE"]


def safe(e):
    x = tf.nn.relu(e)
    return v1.where(x > 0.0, tf.math.log(v1.where(x > 0.0, x, tf.ones_like(x))), tf.zeros_like(x))


@pytest.mark.parametrize("loss", [safe, lambda e: v1.where(e > 0.0, tf.exp(e), tf.zeros_like(e))])
def test_a_safe_argument_is_not(loss):
    assert found(infinite_behind_where, loss) == []


@pytest.mark.parametrize("test", [tf.math.is_nan, lambda x: tf.logical_not(tf.math.is_finite(x))])
def test_a_loss_that_is_replaced_where_it_is_nan_is_named(test):
    loss = lambda e: v1.where(test(e), tf.zeros_like(e), e)  # noqa: E731
    assert found(losses_that_are_not_numbers, loss) == ["INFINITE_BEHIND_WHERE"]


def old_concat(parts, axis):
    """Joins parts as TensorFlow 0.12 does."""
    return tf.raw_ops.Concat(concat_dim=axis, values=parts)


def finite_ones(join, losses):
    """Those of joined losses that are numbers, which are asked of a concatenation of their own."""
    parts = [tf.expand_dims(loss, 0) for loss in losses]
    return tf.boolean_mask(join(parts, 0), tf.math.is_finite(join(parts, 0)))


def stacked(*losses):
    return lambda e: [tf.reduce_mean(loss(e)) for loss in losses]


@pytest.mark.parametrize(
    "choose, count",
    [
        (lambda losses: tf.boolean_mask(losses, ~tf.math.is_nan(losses)), 1),
        (lambda losses: tf.boolean_mask(losses, tf.math.is_finite(tf.stack(losses))), 1),
        (lambda losses: finite_ones(tf.concat, losses), 1),
        (lambda losses: finite_ones(old_concat, losses), 1),
        (lambda losses: tf.boolean_mask(losses, tf.stack(losses) > 0.0), 0),
        (lambda losses: tf.boolean_mask(losses, ~tf.math.is_nan(losses[:1] + losses[:1])), 0),  # of other numbers
        (lambda losses: losses[0] + tf.stop_gradient(tf.boolean_mask(losses, ~tf.math.is_nan(losses))), 0),
    ],
)
def test_losses_without_those_that_are_nan_are_named(choose, count):
    losses = stacked(tf.square, tf.exp)
    assert found(losses_that_are_not_numbers, lambda e: choose(losses(e))) == ["INFINITE_BEHIND_WHERE"] * count


def of_two_parts(parts_of, reduce=tf.reduce_mean):
    """The hazards of a mean of those losses of two parts of a fed batch that are numbers."""

    def build():
        w, x = v1.get_variable("w", [4], use_resource=False), v1.placeholder(tf.float32, [None, 4], "x")
        losses = [reduce(tf.square(tf.linalg.matvec(part, w))) for part in parts_of(x)]
        mean = tf.reduce_mean(tf.boolean_mask(losses, ~tf.math.is_nan(losses)))
        v1.train.GradientDescentOptimizer(0.5).minimize(mean, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    return [hazard.id for hazard in losses_that_are_not_numbers(WholeGraph(graph))]


@pytest.mark.parametrize(
    "parts_of, reduce, count",
    [
        (lambda x: [x[:4], x[4:8]], tf.reduce_mean, 0),
        (lambda x: [tf.boolean_mask(x, x[:, n] > 0.0) for n in range(2)], tf.reduce_mean, 0),
        (lambda x: tf.split(x, 2), tf.reduce_mean, 1),
        (lambda x: [x[:4], x[4:8]], lambda e: tf.reduce_sum(e) / tf.cast(tf.size(e), tf.float32), 1),  # 0 / 0
    ],
)
def test_a_mean_of_no_examples_is_nan_without_a_gradient(parts_of, reduce, count):
    assert of_two_parts(parts_of, reduce) == ["INFINITE_BEHIND_WHERE"] * count


def test_a_choice_by_another_condition_or_without_a_gradient_is_not():
    assert found(losses_that_are_not_numbers, lambda e: v1.where(e > 0.0, tf.zeros_like(e), e)) == []
    stopped = lambda e: e + tf.stop_gradient(v1.where(tf.math.is_nan(e), tf.zeros_like(e), e))  # noqa: E731
    assert found(losses_that_are_not_numbers, stopped) == []


@pytest.mark.parametrize(
    "loss_of, count",
    [
        (lambda ctc: ctc, 0),  # of more labels than times it is infinite, and its gradient is finite
        (tf.reduce_mean, 0),
        (lambda ctc: tf.math.log(ctc), 1),
        (lambda ctc: tf.exp(ctc), 1),
    ],
)
def test_a_ctc_loss_that_is_replaced_where_it_is_infinite_is_not_named(loss_of, count):
    def build():
        w, x = v1.get_variable("w", [4, 5], use_resource=False), v1.placeholder(tf.float32, [6, 2, 4], "x")
        labels = v1.sparse_placeholder(tf.int32, [2, 3], "labels")
        loss = loss_of(v1.nn.ctc_loss(labels, tf.tensordot(x, w, 1), [6, 6]))
        kept = v1.where(tf.math.is_finite(loss), loss, tf.zeros_like(loss))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(kept), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    assert [hazard.id for hazard in losses_that_are_not_numbers(WholeGraph(graph))] == ["INFINITE_BEHIND_WHERE"] * count
