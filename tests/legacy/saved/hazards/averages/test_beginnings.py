"""Moving averages that begin at zero, of weights and of what divides the data, beside those that begin elsewhere."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.averages import beginnings
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
ZEROS, ONES = v1.zeros_initializer(), v1.ones_initializer()


def kept(name, shape, initializer=ZEROS, resource=False):
    return v1.get_variable(name, shape, initializer=initializer, trainable=False, use_resource=resource)


def ids(check, build):
    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [hazard.id for hazard in check(whole)]


def of_weights(move, initializer=ZEROS, weight=None, resource=False, read=lambda average: average):
    """The hazards of a step that moves "average" behind the update of "w", and of a run that evaluates by it."""

    def build():
        w = v1.get_variable("w", [4, 3], initializer=weight, use_resource=resource)
        average = kept("average", [4, 3], initializer, resource)
        x = v1.placeholder(tf.float32, [8, 4], "x")
        update = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(x @ w)), var_list=[w])
        with tf.control_dependencies([update]):
            tf.group(move(average, w), name="train")
        tf.identity(x @ read(average), "results")

    return ids(beginnings.averages_that_begin_at_zero, build)


def by_share(average, w, share=0.999):
    return v1.assign(average, share * average + (1.0 - share) * w)


def by_difference(average, w):
    return v1.assign_sub(average, 0.001 * (average - w))


@pytest.mark.parametrize("move", [by_share, by_difference])
@pytest.mark.parametrize("resource", [True, False])
def test_an_average_of_weights_that_begins_at_zero_is_named(move, resource):
    assert of_weights(move, resource=resource) == ["AVERAGE_BEGINS_AT_ZERO"]


def corrected(average):
    return average / (1.0 - tf.pow(0.999, kept("t", [])))


@pytest.mark.parametrize(
    "options",
    [
        {"initializer": None},  # such as the weights' own values
        {"initializer": ONES},
        {"weight": ZEROS},  # a bias begins there, too
        {"read": corrected},
        {"move": lambda average, w: by_share(average, w, 0.5)},
        {"move": lambda average, w: v1.assign(average, w)},
        {"move": lambda average, w: v1.train.ExponentialMovingAverage(0.999).apply([w])},
        {"move": lambda average, w: v1.train.ExponentialMovingAverage(0.999, zero_debias=True).apply([w * 2.0])},
        {"move": lambda average, w: [by_share(average, w), v1.assign(average, w, name="begin")]},
    ],
)
def test_averages_of_weights_that_begin_elsewhere_or_are_corrected(options):
    assert of_weights(**{"move": by_share, **options}) == []


def test_a_count_of_steps_corrects_too():
    def build():
        w, t = v1.get_variable("w", [4, 3], use_resource=False), kept("t", [])
        update = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(w), var_list=[w])
        with tf.control_dependencies([update, v1.assign_add(t, 1.0)]):
            moved = by_share(kept("average", [4, 3]), w)
        tf.identity(tf.identity(moved) * tf.minimum(t, 2.0), "results")

    assert ids(beginnings.averages_that_begin_at_zero, build) == []


def of_divisor(divide, initializer=ZEROS, share=0.999, shape=(4,)):
    """The hazards of a step whose loss takes what `divide` makes of the data and of a moving average of squares."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        x = v1.placeholder(tf.float32, [8, 4], "x")
        size = kept("size", shape, initializer)
        new = tf.reduce_mean(tf.square(x), 0) if shape else tf.reduce_mean(tf.square(x))
        moved = v1.assign(size, share * size + (1.0 - share) * new)
        loss = tf.reduce_mean(tf.square(divide(x, size, moved) @ w))
        tf.group(moved, v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w]), name="train")

    return ids(beginnings.divisors_that_begin_at_zero, build)


@pytest.mark.parametrize("shape", [(4,), ()])
@pytest.mark.parametrize(
    "divide",
    [
        lambda x, size, moved: x / (tf.sqrt(size) + 1e-3),
        lambda x, size, moved: x / tf.sqrt(tf.maximum(moved, 1e-3)),
        lambda x, size, moved: x * (tf.math.rsqrt(size + 1e-3) * 2.0),
    ],
)
def test_an_average_from_zero_that_divides_the_data_is_named(divide, shape):
    assert of_divisor(divide, shape=shape) == ["AVERAGE_BEGINS_AT_ZERO"]


def root(x, size, moved):
    return x / tf.sqrt(size + 1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"initializer": ONES},
        {"share": 0.5},
        {"divide": lambda x, size, moved: x / (1.0 + size)},  # at first, the data as they are
        {"divide": lambda x, size, moved: x * (size / tf.sqrt(size + 1e-3))},  # a ratio of averages
        {"divide": lambda x, size, moved: x / tf.sqrt(size / (1.0 - tf.pow(0.999, kept("t", []))))},
        {"divide": lambda x, size, moved: x - size},
        {"divide": lambda x, size, moved: (root(x, size, moved), x)[1]},  # of evaluation alone
    ],
)
def test_divisors_that_begin_elsewhere_or_are_corrected(options):
    assert of_divisor(**{"divide": root, **options}) == []


def test_an_average_that_a_condition_leaves_to_evaluation_is_none():
    def divide(x, size, moved):
        moments = tf.reduce_mean(tf.square(x), 0)
        training = v1.placeholder(tf.bool, [], "is_training")
        return x / tf.sqrt(tf.cond(training, lambda: tf.identity(moments), lambda: tf.identity(size)) + 1e-3)

    assert of_divisor(divide) == []
