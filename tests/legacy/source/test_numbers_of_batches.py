"""Numbers that are made of each batch before the towers: no constants of a source."""

import pytest
import tensorflow as tf

from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import apply, lifted, sum_of_squares, towers, weights
from workloads.support.errors import InputError

v1 = tf.compat.v1


def scaled(number):
    """Returns a function that makes two towers whose losses are divided by what `number` makes of the whole batch."""

    def build():
        x = v1.placeholder(tf.float32, [8, 3], name="x")
        divisor, rows = number(x), tf.split(x, 2)

        def gradient(tower):
            return tf.gradients(sum_of_squares(rows[tower]) / divisor, [weights()])[0]

        return apply(tf.add_n(towers(gradient)))

    return build


def test_a_number_of_each_batch_is_no_constant(tmp_path):
    setup = lifted(scaled(lambda x: tf.reduce_max(tf.abs(x), name="largest")), tmp_path)
    with pytest.raises(InputError, match="'largest' is made of each batch before the towers"):
        source_of(setup, "workload")


def test_a_number_that_is_fed_is_one(tmp_path):
    setup = lifted(scaled(lambda x: v1.placeholder(tf.float32, [], name="temperature")), tmp_path)
    assert "TEMPERATURE = 1.0  # fed at every step" in source_of(setup, "workload").text
