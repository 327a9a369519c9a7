"""Numbers that are made of each batch before the towers: no constants of a source."""

import pytest
import tensorflow as tf

from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.imported_step import recover_losses
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
    setup = lifted(scaled(lambda x: tf.reduce_max(v1.placeholder(tf.float32, [8], name="others"))), tmp_path)
    with pytest.raises(InputError, match="'others' is made of each batch before the towers"):
        source_of(setup, "workload")


def test_a_number_that_is_fed_is_one(tmp_path):
    setup = lifted(scaled(lambda x: v1.placeholder(tf.float32, [], name="temperature")), tmp_path)
    assert "TEMPERATURE = 1.0  # fed at every step" in source_of(setup, "workload").text


def shared(number):
    """Returns a function that makes two towers, the sum of whose losses is divided by what `number` makes of data."""

    def build():
        rows = tf.split(v1.placeholder(tf.float32, [8, 3], name="x"), 2)
        loss = tf.add_n(towers(lambda tower: sum_of_squares(rows[tower]))) / number()
        return v1.train.GradientDescentOptimizer(0.125).minimize(loss, var_list=[weights()])

    return build


def counted():
    return tf.reduce_sum(v1.placeholder(tf.float32, [8], name="counts"), name="total")


def test_a_number_that_the_gradients_alone_depend_on_is_no_constant_either(tmp_path):
    setup = lifted(shared(counted), tmp_path)
    for style in ("workload", "standalone"):
        with pytest.raises(InputError, match="is made of each batch before the towers"):
            source_of(setup, style)


def test_a_loss_whose_gradients_depend_on_more_is_not_imported(tmp_path):
    lift = lifted(shared(counted), tmp_path).job.workload
    with pytest.raises(Unwritten, match="gradients: they depend on counts, and the towers' losses do not"):
        recover_losses(lift.plan, lift.graph, [])
    lift = lifted(shared(lambda: 4.0), tmp_path / "constant").job.workload
    assert len(recover_losses(lift.plan, lift.graph, []).losses) == 1
