"""Lines on copies of weights, and on numbers of update rules that follow a schedule, beside those that do neither."""

import pytest
import tensorflow as tf

from tests.legacy.saved.facts.tower_pages import hazards, only, parts, program, sections_of, squares, variable

v1 = tf.compat.v1


def trained_with(update, loss=squares):
    def build():
        x = parts("x", 8, 3)
        return program(lambda tower: loss(x(tower)), update)()

    return sections_of(build)


def copied(value, is_conditional):
    """An update behind which `value(w)` is assigned to another variable, each time or where a counter is even."""

    def update(pairs):
        (_, w), target = pairs[0], variable("target", 3, 2, trainable=False)
        count = v1.get_variable("count", initializer=0, trainable=False, use_resource=False)
        descent = v1.train.GradientDescentOptimizer(0.1).apply_gradients(pairs, count)
        with tf.control_dependencies([descent]):
            if is_conditional:
                # The reads stand inside of the branches, where they are of what the update has left.
                copy = v1.cond(
                    tf.equal(count % 2, 0), lambda: v1.assign(target, value(w)).op, lambda: tf.no_op(), name="every"
                )
            else:
                copy = v1.assign(target, value(w)).op
        tf.group(descent, copy, name="train")

    return update


@pytest.mark.parametrize("is_conditional", [False, True])
def test_a_copy_of_a_weight_is_named(is_conditional):
    page = trained_with(copied(lambda w: w.read_value(), is_conditional))
    assert next(row["role"] for row in page["variables"] if row["name"] == "target") == "copy of w"
    row = only(page["statistics"])
    assert (row["of"], row["decay"]) == ("w", "a copy")


def test_what_is_computed_of_a_weight_is_no_copy():
    page = trained_with(copied(lambda w: 2.0 * w.read_value(), False))
    assert next(row["role"] for row in page["variables"] if row["name"] == "target") == "statistic"
    assert only(page["statistics"])["of"] == "-"


def rule(momentum):
    def update(pairs):
        count = v1.get_variable("count", initializer=0, trainable=False, use_resource=False)
        v1.train.MomentumOptimizer(0.5, momentum(count)).apply_gradients(pairs, count, name="train")

    return only(trained_with(update)["optimizers"])["constants"]


def test_a_momentum_that_follows_the_step_is_shown_with_its_values():
    grown = rule(lambda count: v1.train.piecewise_constant(count, [100], [0.5, 0.75]))
    assert grown == "lr=0.5, momentum by step (0: 0.5, 101: 0.75)"
    assert rule(lambda _: v1.placeholder(tf.float32, [], "m")) == "lr=0.5, momentum: fed at every step"
    assert rule(lambda _: 0.75) == "lr=0.5, momentum=0.75"


def test_powers_that_an_adam_keeps_are_no_schedule():
    page = trained_with(lambda pairs: v1.train.AdamOptimizer(0.5).apply_gradients(pairs, name="train"))
    assert only(page["optimizers"])["constants"] == "lr=0.5, beta1=0.9, beta2=0.999, epsilon=1e-08"


@pytest.mark.parametrize(
    "number, expected", [(lambda keep: keep[1], []), (lambda keep: tf.reduce_mean(keep), ["SAME_BATCH"])]
)
def test_numbers_with_a_place_each_are_no_examples_that_towers_share(number, expected):
    def build():
        x, keep = v1.placeholder(tf.float32, [None, 3], "x"), v1.placeholder(tf.float32, [None], "keep")
        halves = tf.split(x, 2)
        return program(lambda tower: squares(halves[tower]) * number(keep))()

    assert hazards(sections_of(build)) == expected
