"""Moving averages of the weights that towers read, as those of a teacher are, or that only the update changes."""

import pytest
import tensorflow as tf

from tests.legacy.source.trained import (
    assert_port_verified,
    assert_trains_alike,
    assert_workload_verified,
    source_of,
)
from tests.legacy.variants.programs import lifted, mean_of, split_batch, towers, weights

v1 = tf.compat.v1


def program(taught):
    """A program with moving averages of its weights, to whose results its towers keep near if `taught`."""

    def build():
        xs = split_batch()
        average = tf.train.ExponentialMovingAverage(0.75)
        weights()
        average.apply([weights()])  # makes the averages

        def gradient(tower):
            result = tf.tanh(tf.matmul(xs[tower], weights()))
            teacher = tf.matmul(xs[tower], average.average(weights())) if taught else 1.0
            return tf.gradients(tf.reduce_sum((result - tf.stop_gradient(teacher)) ** 2), [weights()])[0]

        with tf.control_dependencies([mean_of(towers(gradient))]):
            return average.apply([weights()])

    return build


@pytest.mark.parametrize("taught", [True, False])
def test_averages_that_towers_read_are_part_of_the_update(taught, tmp_path):
    setup = lifted(program(taught), tmp_path)
    source = source_of(setup, "workload")
    assert ("StepWorkload" in source.text) == taught == ("moving_average: Any" not in source.text)
    (assert_port_verified if taught else assert_workload_verified)(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
