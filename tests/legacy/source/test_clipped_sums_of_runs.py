"""Gradients that each tower clips before a run adds them up, or sets a sum to them, for the update of another run."""

import pytest
import tensorflow as tf

from tests.legacy.source.conditional import with_old_cond
from tests.legacy.source.test_sums_of_runs import source_and_setup
from tests.legacy.source.test_trained_updates import weight
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, plain, split_batch, towers

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "clip, text",
    [
        (lambda gradient: tf.clip_by_value(gradient, -0.1, 0.1), "tf.clip_by_value(gradient, -0.1, 0.1)"),
        (lambda gradient: tf.clip_by_norm(gradient, 0.2), "tf.clip_by_norm(gradient, 0.2)"),
        (lambda gradient: gradient, ""),
    ],
)
def test_what_each_tower_clips_is_clipped_before_it_is_added_up(clip, text, tmp_path):
    source, setup = source_and_setup(lambda gs: tf.add_n([clip(one) for one in gs]) / TOWERS, tmp_path)
    assert ("tf.clip_by" in source.text) == bool(text) and text in source.text
    assert_port_verified(setup, tmp_path, source, steps=8)
    assert_trains_alike(setup, tmp_path, steps=8)


def loss_of(x, w, b):
    return tf.reduce_sum(tf.tanh(tf.matmul(x, w) + b) ** 2)


def by_global_norm():
    """A program of two sums, to which each run adds gradients that are clipped by their norm in each tower."""
    xs, both = split_batch(), [weight("w", [3, 2]), weight("b", [2])]
    of_towers = towers(lambda tower: tf.clip_by_global_norm(tf.gradients(loss_of(xs[tower], *both), both), 0.2)[0])
    sums = [plain("sum_w", [3, 2]), plain("sum_b", [2])]
    tf.group(*[v1.assign_add(one, tf.add_n(parts) / TOWERS) for one, parts in zip(sums, zip(*of_towers))], name="keep")
    tf.group(*[v1.assign(one, tf.zeros_like(one)) for one in sums], name="reset")
    return v1.train.AdamOptimizer(0.25).apply_gradients(list(zip(sums, both)), name="train")


def test_a_global_norm_of_each_tower_is_taken_of_the_gradients_of_all_sums(tmp_path):
    setup = lifted(by_global_norm, tmp_path, train_op=["keep", "keep", "train", "reset"])
    source = source_of(setup, "workload")
    assert "tf.clip_by_global_norm(gradients, 0.2)" in source.text
    assert_port_verified(setup, tmp_path, source, steps=8)


def begun_in_a_branch():
    """`first` sets what it keeps to clipped gradients, and raises a flag; `train` applies that and its own."""
    xs, w = split_batch(), weight("w", [3, 2])
    own = towers(lambda tower: tf.clip_by_value(tf.gradients(loss_of(xs[tower], w, 0.0), w)[0], -0.1, 0.1))
    flag, kept, own = plain("flag", [1]), plain("kept", [3, 2]), tf.add_n(own) / TOWERS
    gradient = v1.cond(flag[0] < 0.5, lambda: v1.assign(kept, own), lambda: tf.add(kept, own))
    with tf.control_dependencies([gradient]):
        first = v1.assign(flag, [1.0], name="first")
    with tf.control_dependencies([v1.assign(first, [0.0])]):
        return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(gradient, w)], name="train")


def test_a_sum_that_a_branch_of_the_first_run_begins(tmp_path):
    setup = lifted(with_old_cond(begun_in_a_branch), tmp_path, train_op=["first", "train"])
    assert {one.weight for one in setup.job.workload.plan.phases[0].combine} == {"kept"}
    source = source_of(setup, "workload")
    assert source.text.count("tf.clip_by_value(gradient, -0.1, 0.1)") == 2, "once in each run"
    assert_port_verified(setup, tmp_path, source, steps=8)
    assert_trains_alike(setup, tmp_path, steps=8)
