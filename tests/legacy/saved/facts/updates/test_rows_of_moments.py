"""Updates of rows by moments: the Adam of TensorFlow, one that is lazy, and others."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.updates.learning_rates import find_learning_rates
from legacy.saved.facts.updates.rows_of_moments import moments_of_rows, slots_read
from legacy.saved.facts.updates.update_rules import update_rule_rows
from legacy.saved.facts.watch import sentences
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def step_of(update):
    """The analysed step of a table of which two towers use rows; `update` takes the table and its gradient's rows."""

    def build():
        table = v1.get_variable("table", initializer=[[1.0], [2.0], [3.0]], use_resource=False)
        rows = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                words = v1.placeholder(tf.int32, [2], "words")
                rows += tf.gradients(tf.reduce_sum(tf.gather(table, words) ** 2), [table])
        values, words = tf.concat([one.values / 2.0 for one in rows], 0), tf.concat([one.indices for one in rows], 0)
        update(table, tf.IndexedSlices(values, words, rows[0].dense_shape))

    return AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["table"]), "small", ["train"]))


def adam(table, gradient):
    v1.train.AdamOptimizer(0.5, 0.75, 0.875, 0.25).apply_gradients([(gradient, table)], name="train")


def old_adam(table, gradient):
    """As TensorFlow 0.12 writes it: rows are not added up before, and a quotient is a `Div`."""
    m, v = (v1.get_variable(f"table/{name}", [3, 1], trainable=False, use_resource=False) for name in "mv")
    words, values = gradient.indices, gradient.values
    m_t = v1.scatter_add(v1.assign(m, 0.75 * m), words, 0.25 * values)
    v_t = v1.scatter_add(v1.assign(v, 0.875 * v), words, 0.125 * (values * values))
    v1.assign_sub(table, tf.raw_ops.Div(x=0.5 * m_t, y=tf.sqrt(v_t) + 0.25), name="train")


def lazily(root):
    """An Adam that changes the moments of the rows at hand alone, whose second moment is put through `root`."""

    def update(table, gradient):
        m, v = (v1.get_variable(f"table/{name}", [3, 1], trainable=False, use_resource=False) for name in "mv")
        words, values = gradient.indices, gradient.values
        m_t = v1.scatter_update(m, words, 0.75 * tf.gather(m, words) + 0.25 * values)
        v_t = v1.scatter_update(v, words, 0.875 * tf.gather(v, words) + 0.125 * tf.square(values))
        divisor = root(tf.gather(v_t, words)) + 0.25
        v1.scatter_sub(table, words, 0.5 * tf.gather(m_t, words) / divisor, name="train")

    return update


def lazily_beside(root):
    """The same, as `LazyAdamOptimizer` of resource variables writes it: the update takes the rows that are set."""

    def update(table, gradient):
        m, v = (v1.get_variable(f"table/{name}", [3, 1], trainable=False, use_resource=False) for name in "mv")
        words, values = gradient.indices, gradient.values
        first = 0.75 * tf.gather(m, words) + 0.25 * values
        second = 0.875 * tf.gather(v, words) + 0.125 * tf.square(values)
        kept = [v1.scatter_update(m, words, first), v1.scatter_update(v, words, second)]
        moved = v1.scatter_sub(table, words, 0.5 * first / (root(second) + 0.25))
        tf.group(moved, *kept, name="train")

    return update


@pytest.mark.parametrize(
    "update, rule, constants",
    [
        (adam, "Adam, of rows (AssignSub)", "lr=0.5, beta1=0.75, beta2=0.875, epsilon=0.25"),
        (old_adam, "Adam, of rows (AssignSub)", "lr=0.5, beta1=0.75, beta2=0.875, epsilon=0.25"),
        (lazily(tf.sqrt), "Adam, row by row (ScatterSub)", "lr=0.5, beta1=0.75, beta2=0.875, epsilon=0.25"),
        (lazily_beside(tf.sqrt), "Adam, row by row (ScatterSub)", "lr=0.5, beta1=0.75, beta2=0.875, epsilon=0.25"),
        (lazily_beside(tf.identity), "written by hand (ScatterSub)", "0.75, 0.25, 0.875, 0.125, 0.5"),
        (lazily(tf.identity), "written by hand (ScatterSub)", "0.75, 0.25, 0.875, 0.125, 0.5"),
    ],
)
def test_moments_of_rows(update, rule, constants):
    step = step_of(update)
    assert [(row["rule"], row["constants"]) for row in update_rule_rows(step)] == [(rule, constants)]
    (phase,) = step.phases
    (effect,) = [effect for effect in phase.effects if effect.node in step.rules]
    assert bool(moments_of_rows(step, phase, effect)) == rule.startswith("Adam")
    assert {"Adam", "m"} & {name.split("/")[-1] for name in slots_read(step, effect)}


@pytest.mark.parametrize("is_scheduled", [False, True])
def test_a_fed_rate_of_rows_is_a_setting(is_scheduled):
    def update(table, gradient):
        fed = v1.placeholder(tf.float32, name="fed")
        rate = tf.maximum(0.0, 1.0 - fed / 8.0) if is_scheduled else fed
        v1.train.AdamOptimizer(rate, 0.75, 0.875, 0.25).apply_gradients([(gradient, table)], name="train")

    step = step_of(update)
    assert [(row["rule"], row["constants"]) for row in update_rule_rows(step)] == [
        ("Adam, of rows (AssignSub)", "beta1=0.75, beta2=0.875, epsilon=0.25")
    ]
    (rate,) = find_learning_rates(step)
    assert rate.text.startswith("a function of fed, fed at every step" if is_scheduled else "fed at every step")
    assert [one.name for one in step.plan.inputs] == ["tower_0/words"] and "fed" in step.plan.sources


def test_gradient_descent_on_rows_reads_no_slots():
    step = step_of(
        lambda table, gradient: v1.train.GradientDescentOptimizer(0.5).apply_gradients(
            [(gradient, table)], name="train"
        )
    )
    assert [row["rule"] for row in update_rule_rows(step)] == ["GradientDescent, row by row (ScatterSub)"]
    assert not any(slots_read(step, effect) for phase in step.phases for effect in phase.effects)


@pytest.mark.parametrize(
    "change, rules",
    [
        (lambda rows, values: rows, ["Adam, of rows (AssignSub)"]),
        (lambda rows, values: values, ["written by hand (ScatterAdd)", "Adam, of rows (AssignSub)"]),
    ],
    ids=["a decay of the rows that a gradient has", "a step of its own"],
)
def test_rows_that_decay_besides_are_trained_by_one_rule(change, rules):
    def update(table, gradient):
        words = gradient.indices
        changed = v1.scatter_add(table, words, -0.125 * change(tf.gather(table, words), gradient.values))
        with tf.control_dependencies([changed]):
            adam(table, tf.IndexedSlices(gradient.values, tf.identity(words), gradient.dense_shape))

    step = step_of(update)
    assert [row["rule"] for row in update_rule_rows(step)] == rules
    said = [text for text in sentences(step, [], []) if "besides" in text]
    assert said == [
        "train: 1 weight is multiplied by 0.875 in the rows that have a gradient besides its update: table"
    ] * (len(rules) == 1)


def test_the_decays_of_a_lazy_adam_are_no_factors_of_its_gradients():
    step = step_of(lazily(tf.sqrt))
    assert not [text for text in sentences(step, [], []) if "before the update takes" in text]


def test_rows_times_a_rate_in_a_variable_are_gradient_descent():
    def update(table, gradient):
        rate = v1.get_variable("rate", [], trainable=False, use_resource=False)
        other = v1.get_variable("other", [3, 1], use_resource=False)
        pairs = [(gradient, table), (tf.convert_to_tensor(gradient), other)]
        v1.train.GradientDescentOptimizer(rate).apply_gradients(pairs, name="train")

    rules = {row["rule"]: row["constants"] for row in update_rule_rows(step_of(update))}
    assert rules == {"GradientDescent": "-", "GradientDescent, row by row (ScatterSub)": "-"}
