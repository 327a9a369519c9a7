"""Names of update rules that a program makes of plain ops, and constants that it holds in variables."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.updates.learning_rates import find_learning_rates
from legacy.saved.facts.updates.update_rules import update_rule_rows
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def scalar(name, value, dtype=tf.float32):
    """A variable that no step trains, with a constant initializer."""
    start = v1.constant_initializer(value)
    return v1.get_variable(name, [], dtype, start, trainable=False, use_resource=True)


def row_of(update):
    """The row of an optimizer that changes w by `update(w, gradient, slots, count)`, which returns assignments."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        count = v1.get_variable("count", initializer=0, use_resource=False, trainable=False)
        zeros = v1.zeros_initializer()
        slots = [v1.get_variable(name, [2], None, zeros, trainable=False, use_resource=False) for name in ("m", "v")]
        x = v1.placeholder(tf.float32, [2], "x")
        (gradient,) = tf.gradients(tf.reduce_sum(tf.multiply(x, w)), [w])
        with tf.control_dependencies(update(w, gradient, *slots, tf.cast(count, tf.float32) + 1.0)):
            v1.assign_add(count, 1, name="train")

    (row,) = update_rule_rows(
        AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "g", ["train"]))
    )
    return row["rule"], row["constants"]


def rmsprop(in_root=False, decay=0.0, clip=None, of_old=False):
    def update(w, gradient, _, square, __):
        gradient = gradient if clip is None else tf.clip_by_value(gradient, -clip, clip)
        new = 0.75 * square + 0.25 * gradient * gradient
        divisor = square if of_old else new
        root = tf.sqrt(divisor + 0.5) if in_root else tf.sqrt(divisor) + 0.5
        return [v1.assign_sub(w, 0.125 * gradient / root + decay * w), v1.assign(square, new)]

    return update


def adam(corrected=2, of_rate=False, beta=0.5):
    """Adam's update; `corrected` moments of the two, by powers of `beta` and 0.75."""

    def update(w, gradient, mean, square, count):
        low, high = 0.5 * mean + 0.5 * gradient, 0.75 * square + 0.25 * tf.square(gradient)
        rests = [1 - beta**count if corrected > 0 else 1.0, 1 - 0.75**count if corrected > 1 else 1.0]
        if of_rate:
            step = 0.125 * tf.sqrt(rests[1]) / rests[0] * low / (tf.sqrt(high) + 0.5)
        else:
            step = 0.125 * (low / rests[0]) / (tf.sqrt(high / rests[1]) + 0.5)
        return [v1.assign(w, w - step), v1.assign(mean, low), v1.assign(square, high)]

    return update


def centered(w, gradient, mean, square, _):
    low, high = 0.75 * mean + 0.25 * gradient, 0.75 * square + 0.25 * tf.square(gradient)
    step = 0.125 * gradient * tf.math.rsqrt(high - tf.square(low) + 0.5)
    return [v1.assign(w, w - step), v1.assign(mean, low), v1.assign(square, high)]


@pytest.mark.parametrize(
    "update, rule, constants",
    [
        (rmsprop(), "RMSProp, of plain ops (AssignSub)", "rho=0.75, epsilon=0.5"),
        (rmsprop(in_root=True, clip=3.0), "RMSProp, of plain ops (AssignSub)", "rho=0.75, epsilon=0.5 in the root"),
        (rmsprop(decay=0.25), "written by hand (AssignSub)", None),
        (rmsprop(of_old=True), "written by hand (AssignSub)", None),
        (centered, "CenteredRMSProp, of plain ops (Assign)", "rho=0.75, epsilon=0.5 in the root"),
        (adam(), "Adam, of plain ops (Assign)", "beta1=0.5, beta2=0.75, epsilon=0.5"),
        (adam(of_rate=True), "Adam, of plain ops (Assign)", "beta1=0.5, beta2=0.75, epsilon=0.5"),
        (
            adam(corrected=0),
            "Adam without bias correction, of plain ops (Assign)",
            "beta1=0.5, beta2=0.75, epsilon=0.5",
        ),
        (adam(corrected=1), "written by hand (Assign)", None),
        (adam(beta=0.625), "written by hand (Assign)", None),
    ],
)
def test_rules_of_plain_ops_have_the_names_of_optimizers(update, rule, constants):
    found = row_of(update)
    assert found[0] == rule
    assert constants in (found[1], None)


@pytest.mark.parametrize("beta, text", [(0.5, "0.125, always"), (0.625, "a function of count, ")])
def test_the_rate_of_an_adam_of_plain_ops_is_without_its_corrections(beta, text):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        count = v1.get_variable("count", initializer=0, use_resource=False, trainable=False)
        zeros = v1.zeros_initializer()
        slots = [v1.get_variable(name, [2], None, zeros, trainable=False, use_resource=False) for name in ("m", "v")]
        (gradient,) = tf.gradients(tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w), [w])
        updates = adam(of_rate=True, beta=beta)(w, gradient, *slots, tf.cast(count, tf.float32) + 1.0)
        with tf.control_dependencies(updates):
            v1.assign_add(count, 1, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    (rate,) = find_learning_rates(AnalysedStep(analyse_graph(graph, "g", ["train"])))
    assert rate.text.startswith(text)


def step_of_keras_adam(count_of_power):
    """The step of an Adam as Keras makes it: hyperparameters in variables, and powers of them by a counter."""

    def build():
        w = v1.get_variable("w", initializer=np.float32([1, 2]), use_resource=True)
        m, v = (v1.get_variable(n, [2], None, v1.zeros_initializer(), trainable=False, use_resource=True) for n in "mv")
        count, rate, decay = scalar("iter", 0, tf.int64), scalar("rate", 0.5), scalar("decay", 0.25)
        beta1, beta2 = scalar("beta_1", 0.75), scalar("beta_2", 0.875)
        x = v1.placeholder(tf.float32, [2], "x")
        (gradient,) = tf.gradients(tf.reduce_sum(tf.multiply(x, w)), [w])
        raised = tf.cast(count + count_of_power, tf.float32)
        apply = tf.raw_ops.ResourceApplyAdam(
            var=w.handle,
            m=m.handle,
            v=v.handle,
            beta1_power=tf.pow(beta1, raised),
            beta2_power=tf.pow(beta2, raised),
            lr=rate / (1.0 + decay * tf.cast(count, tf.float32)),
            beta1=tf.identity(beta1),
            beta2=tf.identity(beta2),
            epsilon=0.5,
            grad=gradient,
        )
        with tf.control_dependencies([apply]):
            tf.group(v1.assign_add(count, 1), name="train")

    return AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "g", ["train"]))


def test_constants_that_variables_hold_are_listed_with_their_first_values():
    step = step_of_keras_adam(1)
    (row,) = update_rule_rows(step)
    assert row["constants"] == "beta1 in beta_1 (0.75 at first), beta2 in beta_2 (0.875 at first), epsilon=0.5"
    (rate,) = find_learning_rates(step)
    assert rate.text.endswith("the step does not change decay (0.25 at first), rate (0.5 at first)")
    assert rate.values.startswith("0: 0.5, 100: 0.0192308")


def test_powers_that_are_not_those_of_the_next_step_are_listed():
    (row,) = update_rule_rows(step_of_keras_adam(2))
    assert row["constants"].startswith("beta1_power by step (0: 0.5625, ")


def test_an_adam_of_double_precision_has_the_constants_of_single_precision():
    def build():
        w = v1.get_variable("w", initializer=tf.constant([1.0, 2.0], tf.float64), use_resource=False)
        x = v1.placeholder(tf.float64, [2], "x")
        v1.train.AdamOptimizer(0.5).minimize(tf.reduce_sum(x * w), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    (row,) = update_rule_rows(AnalysedStep(analyse_graph(graph, "g", ["train"])))
    assert row["constants"] == "lr=0.5, beta1=0.9, beta2=0.999, epsilon=1e-08"
