"""Learning rates that late steps make negative, or larger for ever, beside schedules that end."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.rates_by_step import (
    intervals_of_no_step,
    rates_that_rise_in_steps,
    rates_that_turn,
    rates_that_vanish,
)
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(rate, check=rates_that_turn):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        step = v1.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w))
        optimizer = v1.train.GradientDescentOptimizer(rate(step, tf.cast(step, tf.float32)))
        optimizer.minimize(loss, step, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    return [(hazard.id, hazard.description) for hazard in check(whole)]


def test_a_linear_decay_without_an_end_is_named_with_its_step():
    ((name, text),) = found(lambda step, number: 0.5 * (1.0 - number / 128.0))
    assert name == "LEARNING_RATE_NEGATIVE" and "from step 129 of global_step on" in text


def test_the_first_of_several_intervals_below_zero_is_named():
    """cos(7 pi / 16 step / 1000), without an end at step 1000, is below 0 from 1143 to 3428, and again later."""
    ((name, text),) = found(lambda step, number: 0.03 * tf.cos(7.0 / 16.0 * 3.14159265 * number / 1000.0))
    assert name == "LEARNING_RATE_NEGATIVE" and "from step 1143 of global_step on" in text
    assert not found(lambda step, number: 0.03 * tf.cos(7.0 / 16.0 * 3.14159265 * tf.minimum(number / 1000.0, 1.0)))


def found_by_hand(rate):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        step = v1.get_variable("t", [], initializer=v1.zeros_initializer(), trainable=False, use_resource=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w))
        update = w - rate(step) * v1.gradients(loss, [w])[0]
        tf.group(v1.assign(step, step + 1.0), v1.assign(w, update), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    return [(hazard.id, hazard.description) for hazard in rates_that_turn(whole)]


def warmed_up(part):
    warm = tf.cast(part <= 0.25, tf.float32)
    return warm * (part / 0.25) + (1.0 - warm)


def test_an_update_by_hand_that_counts_by_an_assignment_is_named_also_behind_a_warmup_from_zero():
    ((name, text),) = found_by_hand(lambda step: 0.5 * warmed_up(step / 64.0) * (1.0 - step / 64.0))
    assert name == "LEARNING_RATE_NEGATIVE" and "from step 65 of t on" in text


@pytest.mark.parametrize(
    "rate",
    [
        lambda step: 0.5 * warmed_up(step / 64.0),
        lambda step: 0.5 * tf.maximum(1.0 - step / 64.0, 0.0),
        lambda step: 0.5 * tf.sqrt(1.0 - 0.75 ** (step + 1.0)) / (1.0 - 0.5 ** (step + 1.0)),  # of Adam
    ],
)
def test_updates_by_hand_whose_rates_end_are_not(rate):
    assert found_by_hand(rate) == []


def test_a_warmup_with_exchanged_branches_is_named():
    ((name, _),) = found(lambda step, number: tf.where(step > 64, 0.5 * number / 64.0, 0.5))
    assert name == "LEARNING_RATE_GROWS"


@pytest.mark.parametrize(
    "rate",
    [
        lambda step, number: tf.maximum(0.5 * (1.0 - number / 128.0), 0.0),
        lambda step, number: tf.where(step < 64, 0.5 * number / 64.0, 0.5),
        lambda step, number: v1.train.polynomial_decay(0.5, step, 128, 0.0),
        lambda step, number: v1.train.exponential_decay(0.5, step, 128, 0.5, staircase=True),
        lambda step, number: v1.train.cosine_decay(0.5, step, 128),
        lambda step, number: 0.5,
    ],
)
def test_schedules_that_end_are_not(rate):
    assert found(rate) == []


@pytest.mark.parametrize("boundaries, count", [([64, 32], 1), ([32, 64], 0), ([32], 0)])
def test_boundaries_that_do_not_ascend_are_named(boundaries, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        step = v1.train.get_or_create_global_step()
        rate = v1.train.piecewise_constant(step, boundaries, [0.5, 0.25, 0.125][: len(boundaries) + 1])
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w))
        v1.train.GradientDescentOptimizer(rate).minimize(loss, step, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    assert [hazard.id for hazard in intervals_of_no_step(whole)] == ["BOUNDARIES_NOT_ASCENDING"] * count


@pytest.mark.parametrize("power", [2.0, 4.0])
def test_a_power_that_falls_to_zero_where_the_program_ends_is_no_growth(power):
    assert found(lambda step, number: 0.5 * tf.pow(1.0 - number / 3000.0, power)) == []


def test_a_rate_that_falls_a_little_before_it_grows_is_named():
    rates = found(lambda step, number: 0.5 * tf.square(1.0 - number / 3000.0) + 0.25)
    assert [name for name, _ in rates] == ["LEARNING_RATE_GROWS"]


@pytest.mark.parametrize(
    "rate, count",
    [
        (lambda step, number: v1.train.exponential_decay(0.1, step, 1, 0.5, staircase=True), 1),
        (lambda step, number: v1.train.exponential_decay(0.1, step, 1, 0.96), 1),
        (lambda step, number: v1.train.exponential_decay(0.1, step, 100, 0.1), 0),
        (lambda step, number: v1.train.exponential_decay(0.1, step, 4, 0.5), 0),  # a program of a few steps
        (lambda step, number: v1.train.exponential_decay(0.1, step, 20, 0.5, staircase=True), 0),
        (lambda step, number: 0.1 / (1.0 + number), 0),
        (lambda step, number: v1.train.polynomial_decay(0.1, step, 50, 0.0), 0),
    ],
)
def test_a_rate_that_each_step_shrinks_by_a_factor_is_named(rate, count):
    assert [name for name, _ in found(rate, rates_that_vanish)] == ["LEARNING_RATE_VANISHES"] * count


def in_steps(*values):
    def rate(step, number):
        bounds = [100 * (place + 1) for place in range(len(values) - 1)]
        return v1.train.piecewise_constant(tf.cast(step, tf.int32), bounds, list(values))

    return rate


@pytest.mark.parametrize(
    "rate, count",
    [
        (in_steps(0.001, 0.01, 0.1), 1),
        (in_steps(0.1, 0.01, 0.001), 0),
        (in_steps(0.01, 0.1), 0),  # a warmup by one step
        (in_steps(0.01, 0.05, 0.1), 0),  # and by several
        (in_steps(0.01, 0.1, 0.001), 0),
        (lambda step, number: 0.1 * tf.minimum(1.0, number / 1000.0), 0),
    ],
)
def test_a_rate_that_rises_at_each_boundary_is_named(rate, count):
    assert [name for name, _ in found(rate, rates_that_rise_in_steps)] == ["LEARNING_RATE_RISES"] * count


@pytest.mark.parametrize("by_step, count", [(True, 1), (False, 0)])
def test_a_rate_that_each_epoch_shrinks_does_not_vanish(by_step, count):
    def rate(step, number):
        epoch = v1.get_variable("epoch", [], tf.int32, v1.zeros_initializer(), trainable=False, use_resource=False)
        v1.assign_add(epoch, 1, name="next_epoch")  # which the program runs, and no train step
        return v1.train.exponential_decay(0.1, step if by_step else epoch, 1, 0.9)

    assert [name for name, _ in found(rate, rates_that_vanish)] == ["LEARNING_RATE_VANISHES"] * count
