"""Statistics that the forward pass waits for, as batch norm updates them in place, at other numbers of towers."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from tests.legacy.variants.programs import TOWERS, apply, lifted, setup_of, split_batch, verified, weights

v1 = tf.compat.v1
#: Weight of a batch's mean in the moving mean: a power of two, and the means are of few bits.
RATE = 0.25


def build():
    """Each tower's loss waits for its own update of one moving mean, and the train op for the gradients only."""
    gradients = []
    for tower, x in enumerate(split_batch()):
        with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"), v1.variable_scope("", reuse=v1.AUTO_REUSE):
            moving = v1.get_variable("moving_mean", [3], trainable=False, initializer=v1.zeros_initializer())
            moved = v1.assign_sub(moving, RATE * (moving - tf.reduce_mean(x, 0)), name="AssignMovingAvg")
            with tf.control_dependencies([moved.op]):
                loss = tf.reduce_sum(tf.matmul(tf.identity(x), weights()) ** 2)
            gradients += v1.gradients(loss, [weights()])
    return apply(tf.add_n(gradients) / TOWERS)


@pytest.mark.parametrize("replicas", [1, 3])
def test_an_old_graph_at_another_number_runs_them_as_its_port_does(replicas, tmp_path):
    out = lifted(build, tmp_path).job.workload.folder
    setup = dataclasses.replace(setup_of(out, replicas), replicated=True)
    result = verified(setup, 2)
    assert result.passed, result.first
    assert result.stages["statistics"].tensors
    with setup.legacy_program() as program:
        batches = [shard["x"].mean(0) for shard in setup.make_source(setup.job).shards(0)]
        after = program.step().state.statistics["moving_mean"]
    expected = np.zeros(3, np.float32)
    for mean in (batches[0], batches[-1]):  # those that stand for the graph's two towers
        expected -= RATE * (expected - mean)
    np.testing.assert_allclose(after, expected, rtol=1e-6)
    assert np.all(after != 0)


def last_towers_statistic():
    """The last tower alone moves a mean, whose batch the loss of every tower is made of; it is fetched beside."""
    gradients = []
    for tower, x in enumerate(split_batch()):
        with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"), v1.variable_scope("", reuse=v1.AUTO_REUSE):
            moving = v1.get_variable("moving_mean", [3], trainable=False, initializer=v1.zeros_initializer())
            mean = tf.reduce_mean(x, 0)
            gradients += v1.gradients(tf.reduce_sum(tf.matmul(x - mean, weights()) ** 2), [weights()])
    moved = v1.assign_sub(moving, RATE * (moving - mean), name="AssignMovingAvg")
    return tf.group(apply(tf.add_n(gradients) / TOWERS), moved)


@pytest.mark.parametrize("replicas", [1, 3])
def test_the_last_replica_moves_the_statistic_of_the_last_tower(replicas, tmp_path):
    out = lifted(last_towers_statistic, tmp_path).job.workload.folder
    setup = dataclasses.replace(setup_of(out, replicas), replicated=True)
    result = verified(setup, 2)
    assert result.passed, result.first
    with setup.modern_program() as program:
        last = setup.make_source(setup.job).shards(0)[-1]["x"].mean(0)
        np.testing.assert_allclose(program.step().state.statistics["moving_mean"], RATE * last, rtol=1e-6)
