"""Constants of optimizers that are exchanged, and learning rates that grow, beside usual ones."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.constants import (
    exchanged_constants,
    growing_learning_rates,
    momenta_of_zero,
    negative_learning_rates,
)
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, make_optimizer):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        step = v1.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w))
        make_optimizer(tf.cast(step, tf.float32)).minimize(loss, step, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    return [hazard.id for hazard in check(whole)]


@pytest.mark.parametrize(
    "make, count",
    [
        (lambda step: v1.train.AdamOptimizer(1e-3, 1e-8), 1),
        (lambda step: v1.train.MomentumOptimizer(0.9, 0.01), 1),
        (lambda step: v1.train.AdamOptimizer(1e-3, 0.999, 0.9), 1),
        (lambda step: v1.train.RMSPropOptimizer(1e-3, 1e-6), 1),
        (lambda step: v1.train.AdamOptimizer(1e-3), 0),
        (lambda step: v1.train.AdamOptimizer(1e-3, 0.9, 0.9), 0),
        (lambda step: v1.train.RMSPropOptimizer(1e-3, 0.9), 0),
        (lambda step: v1.train.AdamOptimizer(1e-3, 0.0, 0.9), 0),
        (lambda step: v1.train.MomentumOptimizer(0.01, 0.9), 0),
    ],
)
def test_exchanged_constants_are_named(make, count):
    assert found(exchanged_constants, make) == ["CONSTANTS_EXCHANGED"] * count


@pytest.mark.parametrize(
    "rate, count",
    [
        (lambda step: 0.001 * (step + 1.0) / 1000.0, 1),
        (lambda step: 0.001 * tf.minimum(1.0, (step + 1.0) / 1000.0), 0),
        (lambda step: 0.1 - 0.0001 * step, 0),
        (lambda step: v1.train.exponential_decay(0.1, step, 100, 1.25), 1),
        (lambda step: v1.train.exponential_decay(0.1, step, 100, 1.25, staircase=True), 1),
        (lambda step: v1.train.exponential_decay(0.1, step, 100, 0.75), 0),
        (lambda step: 0.1 * 1.25 ** (-0.01 * step), 0),
        (lambda step: tf.minimum(0.5, v1.train.exponential_decay(0.1, step, 100, 1.25)), 0),
        (lambda step: 0.5, 0),
    ],
)
def test_a_learning_rate_that_grows_for_ever_is_named(rate, count):
    make = lambda step: v1.train.GradientDescentOptimizer(rate(step))  # noqa: E731
    assert found(growing_learning_rates, make) == ["LEARNING_RATE_GROWS"] * count


@pytest.mark.parametrize(
    "rate, count",
    [
        (lambda now: 0.01 * now / 500.0, 1),
        (lambda now: 0.01 * tf.minimum(1.0, now / 500.0), 0),
        (lambda now: 0.01 / now, 0),
        (lambda now: 0.01 * tf.sqrt(1.0 - tf.pow(0.999, now)) / (1.0 - tf.pow(0.9, now)), 0),
        (lambda now: 0.01, 0),
    ],
)
def test_a_learning_rate_by_hand_that_grows_for_ever_is_named(rate, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        now = v1.assign_add(v1.get_variable("step", [], use_resource=False, trainable=False), 1.0)
        g = tf.gradients(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w)), [w])[0]
        tf.group(v1.assign_sub(w, rate(now) * g / tf.sqrt(tf.square(g) + 1e-6)), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    assert [hazard.id for hazard in growing_learning_rates(whole)] == ["LEARNING_RATE_GROWS"] * count


@pytest.mark.parametrize("rate, count", [(-0.5, 1), (0.5, 0)])
def test_a_negative_learning_rate_is_named(rate, count):
    make = lambda step: v1.train.GradientDescentOptimizer(rate)  # noqa: E731
    assert found(negative_learning_rates, make) == ["LEARNING_RATE_NEGATIVE"] * count


@pytest.mark.parametrize("momentum, named", [(0.0, ["MOMENTUM_ZERO"]), (0.9, []), (1.0, ["MOMENTUM_NOT_BELOW_ONE"])])
def test_a_momentum_of_zero_or_one_is_named(momentum, named):
    make = lambda step: v1.train.MomentumOptimizer(0.1, momentum)  # noqa: E731
    assert found(momenta_of_zero, make) == named
