"""Towers that change variables of their own in a branch which their own loss decides."""

import numpy as np
import pytest
import tensorflow as tf

from tests.legacy.source.conditional import with_old_cond
from tests.legacy.variants.programs import (
    assert_same,
    lifted,
    mean_of,
    plain,
    split_batch,
    sum_of_squares,
    towers,
    weights,
)

v1 = tf.compat.v1


def counts_bad_steps(xs, tower, value):
    """(the gradient, what keeps the smallest loss and counts the steps since) of a tower."""
    loss = sum_of_squares(xs[tower])
    best, bad = plain(f"best_{tower}", [], 100.0), plain(f"bad_{tower}", [])
    better = lambda: tf.group(v1.assign(best, value(loss)), v1.assign(bad, 0.0))  # noqa: E731
    kept = v1.cond(loss < best, better, lambda: tf.group(v1.assign_add(bad, 1.0)))
    return tf.gradients(loss, [weights()])[0], kept


def program(value):
    xs = split_batch()
    found = towers(lambda tower: counts_bad_steps(xs, tower, value))
    return tf.group(mean_of([gradient for gradient, _ in found]), *(kept for _, kept in found), name="train")


@pytest.mark.parametrize("value", [lambda loss: loss, lambda loss: tf.constant(1.0)])
def test_variables_that_a_tower_changes_in_a_branch_by_its_own_loss(value, tmp_path):
    setup = lifted(with_old_cond(lambda: program(value)), tmp_path)
    assert_same(setup, steps=6)
    with setup.modern_program() as port:
        counts = [port.step().state.statistics["bad_0"] for _ in range(6)]
    assert 0.0 in counts and np.max(counts) > 0.0  # both branches ran


def two_runs():
    """`first` sets what it keeps to gradients, and raises a flag; `train` applies that and its own, and lowers it."""
    xs = split_batch()
    gradients = towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0])
    flag, kept = plain("flag", [1]), plain("kept", weights().shape.as_list())
    own = tf.add_n(gradients) / 4.0
    gradient = v1.cond(flag[0] < 0.5, lambda: v1.assign(kept, own), lambda: tf.add(kept, own))
    with tf.control_dependencies([gradient]):
        first = v1.assign(flag, [1.0], name="first")
    with tf.control_dependencies([v1.assign(first, [0.0])]):
        return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(gradient, weights())], name="train")


def test_what_a_branch_that_is_not_taken_assigns_is_not_its_result(tmp_path):
    setup = lifted(with_old_cond(two_runs), tmp_path, train_op=["first", "train"])
    assert_same(setup, steps=8)
