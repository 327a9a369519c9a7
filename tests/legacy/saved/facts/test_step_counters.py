"""Counters of steps, of steps under a condition, and of the updates of one average."""

import pytest
import tensorflow as tf
from tensorflow.python.training import moving_averages  # assign_moving_average has no other name in 2.x

from legacy.saved.facts.step_counters import STEP_COUNTER
from tests.legacy.saved.facts.tower_pages import descend, parts, program, sections_of, squares, variable

v1 = tf.compat.v1


def page(make_update):
    """The sections of a program whose train op also runs what `make_update` makes of the first tower's examples."""

    def build():
        x, seen = parts("x", 8, 3), []

        def loss(tower):
            seen.append(x(tower))
            return squares(seen[-1])

        def update(pairs):
            with tf.control_dependencies([make_update(seen[0])]):
                descend(pairs)

        program(loss, update)()

    return sections_of(build)


def counters(make_update):
    """((variable, rises by) of the step counters, {variable: its role})."""
    sections = page(make_update)
    rows = [(row["variable"], row["rises by"]) for row in sections["step counters"]]
    return rows, {row["name"]: row["role"] for row in sections["variables"]}


def test_a_counter_of_steps():
    rows, roles = counters(lambda x: v1.assign_add(v1.train.get_or_create_global_step(), 1))
    assert (rows, roles["global_step"]) == ([("global_step", "1")], STEP_COUNTER)


def test_a_counter_that_rises_in_some_steps():
    def make(x):
        step = v1.train.get_or_create_global_step()
        return v1.cond(tf.reduce_sum(x) > 0, lambda: v1.assign_add(step, 1).op, tf.no_op)

    assert counters(make)[0] == [("global_step", "1, under a condition")]


def chosen(choose, changed, other=lambda step, total: step):
    """An update of the step counter to a changed value where the examples are finite, else to another one."""

    def make(x):
        step = v1.train.get_or_create_global_step()
        total = tf.reduce_sum(x)
        value = choose(tf.math.is_finite(total), lambda: changed(step, total), lambda: other(step, total))
        return v1.assign(step, tf.identity(value))

    return make


def where(predicate, changed, other):
    return v1.where(predicate, changed(), other())


def of_examples(step, total):
    return step + tf.cast(total, step.dtype)


@pytest.mark.parametrize("choose", [v1.cond, where])
def test_a_counter_that_is_set_to_a_chosen_value(choose):
    found = counters(chosen(choose, lambda step, total: step + 2))
    assert found[0] == [("global_step", "2, under a condition")]
    assert counters(chosen(choose, lambda step, total: step, lambda step, total: step + 1))[0] == [
        ("global_step", "1, under a condition")
    ]


@pytest.mark.parametrize("choose", [v1.cond, where])
@pytest.mark.parametrize(
    "changed, other",
    [
        (of_examples, lambda step, total: step),
        (lambda step, total: step + 1, lambda step, total: tf.zeros_like(step)),
        (lambda step, total: step * 2, lambda step, total: step),
        (lambda step, total: step + 1, lambda step, total: step + 2),
    ],
)
def test_other_chosen_values_count_no_steps(choose, changed, other):
    assert counters(chosen(choose, changed, other))[0] == []


def test_the_count_of_a_debiased_average_is_no_step_counter():
    def make(x):
        mean = variable("mean", 3, trainable=False, value=0.0)
        return moving_averages.assign_moving_average(mean, tf.reduce_mean(x, 0), 0.9, zero_debias=True)

    rows, roles = counters(make)
    (count,) = [role for name, role in roles.items() if name.endswith("local_step")]
    assert rows == [] and count.startswith("updates of mean")


def test_the_step_that_one_average_takes_its_decay_from_is_a_step_counter():
    def make(x):
        step = v1.train.get_or_create_global_step()
        mean = variable("mean", 3, trainable=False, value=0.0)
        share = 1.0 / (1.0 + tf.cast(step, tf.float32))
        moved = v1.assign(mean, mean * (1.0 - share) + tf.reduce_mean(x, 0) * share)
        return tf.group(moved, v1.assign_add(step, 1))

    assert counters(make)[0] == [("global_step", "1")]
