"""Lifts of programs that run the model once before the towers, on the first one's batch, and keep its updates."""

import tensorflow as tf

from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import assert_same, lifted

v1 = tf.compat.v1


def built_before(uses_first_batch):
    """The model is built once to make its variables on the CPU; its statistics are updated by that pass, too.

    The pass takes the first tower's batch, or one of its own.
    """

    def model(x):
        w = v1.get_variable("w", [3, 2], initializer=v1.random_normal_initializer(seed=1))
        mean = v1.get_variable("mean", [2], initializer=v1.zeros_initializer(), trainable=False)
        y = tf.matmul(x, w)
        batch_mean = tf.reduce_mean(y, 0)
        v1.add_to_collection("updates", v1.assign_sub(mean, (mean - batch_mean) * 0.25))
        return tf.reduce_mean(tf.square(tf.tanh(y - batch_mean) - x[:, :2]))

    def build():
        batches = [v1.placeholder(tf.float32, [4, 3], f"x_{n}") for n in range(3)]
        model(batches[0 if uses_first_batch else 2])
        gradients, optimizer = [], v1.train.MomentumOptimizer(0.125, 0.5)
        for n in range(2):
            reused = v1.variable_scope(v1.get_variable_scope(), reuse=True)
            with reused, tf.device(f"/gpu:{n}"), v1.name_scope(f"gpu_{n}"):
                gradients.append(optimizer.compute_gradients(model(batches[n])))
        means = [(tf.add(*(g for g, _ in pairs)) / 2, pairs[0][1]) for pairs in zip(*gradients)]
        with tf.control_dependencies(v1.get_collection("updates")):
            return optimizer.apply_gradients(means)

    return build


def names_of(setup):
    plan = setup.job.workload.plan
    return [entry.name for entry in plan.inputs], [entry.name for entry in plan.common]


def test_a_pass_on_the_first_towers_batch_needs_no_data_of_its_own(tmp_path):
    setup = lifted(built_before(uses_first_batch=True), tmp_path)
    assert names_of(setup) == (["x_0"], [])
    assert_same(setup, steps=3)


def test_a_pass_on_a_batch_of_its_own_is_data(tmp_path):
    """What such a pass gives to the statistics is no tower's, and stays an input."""
    inputs, common = names_of(lifted(built_before(uses_first_batch=False), tmp_path))
    assert inputs == ["x_0"] and len(common) == 1


def test_such_a_pass_is_written_as_part_of_the_update(tmp_path):
    setup = lifted(built_before(uses_first_batch=True), tmp_path)
    assert_port_verified(setup, tmp_path, source_of(setup, "workload"))
    assert_trains_alike(setup, tmp_path)
