"""Noise that a program adds to the towers' combined gradients: drawn once in each step, whatever the batch."""

import dataclasses

import tensorflow as tf

from tests.legacy.variants.programs import (
    TOWERS,
    apply,
    assert_same,
    lifted,
    setup_of,
    split_batch,
    sum_of_squares,
    towers,
    weights,
)

v1 = tf.compat.v1


def program(noise):
    """Returns what builds a train op of a mean of gradients and of noise."""

    def build():
        xs = split_batch()
        mean = tf.add_n(towers(lambda i: tf.gradients(sum_of_squares(xs[i]), [weights()])[0])) / TOWERS
        return apply(mean + noise())

    return build


def test_noise_behind_the_combining_is_drawn_by_the_step(tmp_path):
    setup = lifted(program(lambda: v1.random_normal([3, 2], stddev=0.25)), tmp_path)
    plan = setup.job.workload.plan
    assert [entry.name for entry in plan.inputs + plan.common] == ["x"]
    assert [entry.nodes for entry in plan.common_noise] == [["random_normal/RandomStandardNormal"]]
    assert_same(setup)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=3), replicated=True))


def test_noise_that_is_made_from_data_brings_them_in(tmp_path):
    def noise():
        return v1.random_normal([3, 2]) * v1.placeholder(tf.float32, [], "size")

    setup = lifted(program(noise), tmp_path)
    plan = setup.job.workload.plan
    assert [entry.name for entry in plan.inputs + plan.common] == ["x", "size"]
    assert_same(setup)
