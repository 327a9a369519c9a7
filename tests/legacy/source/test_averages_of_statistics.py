"""Moving averages of statistics, as of all variables of a model: like those of the weights, part of the update."""

import tensorflow as tf

from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import lifted, mean_of, plain, split_batch, towers, weights

v1 = tf.compat.v1
NAMES = ("layer/moving_mean", "layer/moving_variance")


def program():
    """The first tower moves two statistics of its inputs; one average object has weights and statistics."""
    xs, updates = split_batch(), []

    def gradient(tower):
        result = tf.tanh(tf.matmul(xs[tower], weights()))
        with v1.variable_scope("", reuse=v1.AUTO_REUSE):
            moving = [plain(name, [2], start) for name, start in zip(NAMES, (0.0, 1.0))]
        for statistic, value in zip(moving, tf.nn.moments(result, [0])):
            if tower == 0:
                updates.append(v1.assign_sub(statistic, (statistic - value) * 0.25))
        return tf.gradients(tf.reduce_sum(result**2), [weights()])[0]

    apply = mean_of(towers(gradient))
    average = tf.train.ExponentialMovingAverage(0.75)
    return tf.group(apply, *updates, average.apply([weights(), *v1.global_variables()[1:3]]), name="train")


def test_averages_of_statistics_are_a_loop_and_start_from_what_they_average(tmp_path):
    setup = lifted(program, tmp_path)
    source = source_of(setup, "workload")
    assert f"STATISTICS = {list(NAMES)}".replace("'", '"') in source.text
    assert 'SLOTS = [(WEIGHTS + STATISTICS, {"ExponentialMovingAverage": None})]' in source.text
    assert "    for name in STATISTICS:\n        x = (values[name + " in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
    other = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace(") * 0.25", ") * 0.125"))
    assert not other.passed
