"""Updates of rows by AdaMax and Nadam, beside rules that resemble them."""

import pytest
import tensorflow as tf

from legacy.saved.facts.updates.rows_of_variants import variant_of_rows
from legacy.saved.facts.updates.update_rules import update_rule_rows
from tests.legacy.saved.facts.updates.test_rows_of_moments import lazily, step_of

v1 = tf.compat.v1


def slots():
    return [v1.get_variable(f"table/{name}", [3, 1], trainable=False, use_resource=False) for name in "mv"]


def adamax(larger=tf.maximum):
    """As `tf.contrib.opt.AdaMaxOptimizer` updates rows."""

    def update(table, gradient):
        m, v = slots()
        power = v1.get_variable("beta1_power", initializer=0.75, trainable=False, use_resource=False)
        words, values = gradient.indices, gradient.values
        first = tf.gather(m, words) * 0.75 + values * 0.25
        second = larger(tf.gather(v, words) * 0.875, tf.abs(values))
        rows = -0.5 / (1.0 - power) * (first / (second + 0.125))
        moved = [v1.scatter_update(m, words, first), v1.scatter_update(v, words, second)]
        tf.group(v1.scatter_add(table, words, rows), *moved, name="train")

    return update


def nadam(root=tf.sqrt):
    """As `tf.contrib.opt.NadamOptimizer` updates rows."""

    def update(table, gradient):
        m, v = slots()
        words, values = gradient.indices, gradient.values
        m_t = v1.assign(m, m * 0.75)
        with tf.control_dependencies([m_t]):
            m_t = v1.scatter_add(m, words, values * 0.25)
            bar = values * 0.25 + 0.75 * tf.gather(m_t, words)
        v_t = v1.assign(v, v * 0.875)
        with tf.control_dependencies([v_t]):
            v_t = v1.scatter_add(v, words, (values * values) * 0.125)
        rows = -0.5 * bar / (root(tf.gather(v_t, words)) + 0.25)
        tf.group(v1.scatter_add(table, words, rows), name="train")

    return update


@pytest.mark.parametrize(
    "update, rule, constants",
    [
        (adamax(), "AdaMax, row by row (ScatterAdd)", "beta1=0.75, beta2=0.875, epsilon=0.125"),
        (nadam(), "Nadam, row by row (ScatterAdd)", "beta1=0.75, beta2=0.875, epsilon=0.25"),
        (adamax(tf.minimum), "written by hand (ScatterAdd)", None),
        (nadam(tf.identity), "written by hand (ScatterAdd)", None),
        (lazily(tf.sqrt), "Adam, row by row (ScatterSub)", None),
    ],
    ids=["AdaMax", "Nadam", "the smaller of both", "no root", "Adam"],
)
def test_variants_of_adam_have_their_names_and_constants(update, rule, constants):
    step = step_of(update)
    (row,) = update_rule_rows(step)
    assert row["rule"] == rule
    (phase,) = step.phases
    (effect,) = [effect for effect in phase.effects if effect.node in step.rules]
    assert (variant_of_rows(step, phase, effect) is not None) == (constants is not None)
    if constants is not None:
        assert row["constants"].endswith(constants)
