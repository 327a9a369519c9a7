"""Learning rates whose counter a step raises before or after it computes them."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.updates.learning_rates import find_learning_rates
from legacy.saved.facts.updates.update_rules import update_rule_rows
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("before, first", [(True, "0: 0.5, "), (False, "0: inf, ")])
def test_a_rate_of_a_counter_that_was_raised_before_is_that_of_the_raised_one(before, first, resource):
    """Adam by hand divides by 1 - b^t, where t is 1 in the first step."""

    def build():
        w = v1.get_variable("w", [2], use_resource=False)
        count = v1.get_variable("t", initializer=0.0, trainable=False, use_resource=resource)
        raised = v1.assign_add(count, 1.0)
        (gradient,) = tf.gradients(tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w), [w])
        rate = 0.25 / (1.0 - tf.pow(0.5, raised if before else count.read_value()))
        tf.group(v1.assign_sub(w, rate * gradient), raised, name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert [rate.values[: len(first)] for rate in find_learning_rates(step)] == [first]


@pytest.mark.parametrize("fed, text", [({"rate": "0.25"}, "0.125, always"), ({}, "a function of rate")])
def test_a_rate_that_is_computed_from_a_setting_is_a_number(fed, text):
    def build():
        w = v1.get_variable("w", [2], use_resource=False)
        given = v1.placeholder(tf.float64, [], "rate")
        loss = tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w)
        v1.train.GradientDescentOptimizer(tf.maximum(given / 2.0, 0.01)).minimize(loss, name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"], fed)
    (rate,) = find_learning_rates(AnalysedStep(found))
    assert rate.text.startswith(text) and rate.values == "-"


@pytest.mark.parametrize(
    "rate, text",
    [
        (lambda: v1.py_func(lambda: np.float32(0.5), [], tf.float32, name="host"), "what host (PyFunc) gives at every"),
        (lambda: v1.placeholder(tf.float32, [], "host"), "fed at every"),
    ],
)
def test_a_rate_that_python_computes_is_not_said_to_be_fed(rate, text):
    def build():
        w = v1.get_variable("w", [2], use_resource=False)
        loss = tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w)
        v1.train.GradientDescentOptimizer(rate()).minimize(loss, name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert [rate.text for rate in find_learning_rates(step)] == [f"{text} step"]


@pytest.mark.parametrize(
    "factor, text",
    [
        (lambda w, g: 0.25 * (tf.norm(w) / tf.norm(g)), "0.25, always"),  # LARS
        (lambda w, g: 0.25 * (tf.constant(4.0) / tf.maximum(tf.norm(g), 4.0)), "1, always"),  # a bound on a norm
        (lambda w, g: tf.norm(w) / tf.norm(g), "1, always"),
    ],
)
def test_the_rate_that_a_gradient_has_beside_a_ratio_of_norms(factor, text):
    def build():
        w = v1.get_variable("w", [2], use_resource=False)
        (gradient,) = tf.gradients(tf.reduce_sum(tf.square(v1.placeholder(tf.float32, [2], "x") * w)), [w])
        optimizer = v1.train.MomentumOptimizer(1.0, 0.9)
        optimizer.apply_gradients([(gradient * factor(w, gradient), w)], name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert [rate.text for rate in find_learning_rates(step)] == [text]


@pytest.mark.parametrize("later, values, is_level", [(0.25, "0: 0.5, 12000001: 0.25", False), (0.5, "0: 0.5", True)])
def test_boundaries_of_more_than_ten_million_steps_are_shown(later, values, is_level):
    def build():
        w = v1.get_variable("w", [2], use_resource=False)
        step = v1.get_variable("step", initializer=np.int64(0), trainable=False, use_resource=False)
        rate = tf.where(step > 12_000_000, later, 0.5)
        loss = tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w)
        v1.train.GradientDescentOptimizer(rate).minimize(loss, step, name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert [(rate.values, rate.is_level) for rate in find_learning_rates(step)] == [(values, is_level)]


def test_boundaries_behind_a_warm_up_are_shown_at_their_steps():
    """The schedule counts from the end of the warm-up on: 7 + 20 is the last step of its first value."""

    def build():
        w = v1.get_variable("w", [2], use_resource=False)
        step = v1.get_variable("step", initializer=0.0, trainable=False, use_resource=False)
        later = tf.where(step - 7.0 > 20.0, 0.25, 0.5)
        rate = tf.where(step < 7.0, 0.125, later)
        loss = tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w)
        v1.train.GradientDescentOptimizer(rate).minimize(loss, step, name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert [rate.values for rate in find_learning_rates(step)] == ["0: 0.125, 7: 0.5, 28: 0.25"]


@pytest.mark.parametrize("updates, text", [(1, "1"), (2, "1, by 2 updates")])
def test_variables_that_several_updates_change_are_counted_once(updates, text):
    def build():
        w = v1.get_variable("w", [2], use_resource=False)
        loss = tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w)
        tf.group(*[v1.train.GradientDescentOptimizer(0.5).minimize(loss) for _ in range(updates)], name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert [row["variables"] for row in update_rule_rows(step)] == [text]


@pytest.mark.parametrize(
    "rates, constants",
    [
        ((lambda step: 0.5 / step, lambda step: 0.25 / step), ["learning rate rate_1:0", "learning rate rate_0:0"]),
        ((lambda step: 0.5 / step, lambda step: 0.5 / step), ["-"]),
        ((lambda step: 0.5, lambda step: 0.25), ["alpha=0.25", "alpha=0.5"]),
    ],
)
def test_two_optimizers_with_two_schedules_have_a_row_each(rates, constants):
    def build():
        step = v1.get_variable("step", initializer=1.0, trainable=False, use_resource=False)
        weights = [v1.get_variable(name, [2], use_resource=False) for name in "uw"]
        loss = tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * weights[0] * weights[1])
        pairs = list(zip(tf.gradients(loss, weights), weights))
        made = [tf.identity(rate(step), f"rate_{number}") for number, rate in enumerate(rates)]
        applied = [v1.train.GradientDescentOptimizer(rate).apply_gradients([one]) for rate, one in zip(made, pairs)]
        tf.group(*applied, name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["u", "w"]), "small", ["train"]))
    rows = update_rule_rows(step, find_learning_rates(step))
    assert [row["constants"] for row in rows] == constants
    assert sum(int(row["variables"]) for row in rows) == 2
