"""Losses whose sum over towers is divided by what the size of the whole batch gives: each tower divides its own."""

import pytest
import tensorflow as tf

from parity.against.loss_sizes import number_below_losses
from tests.legacy.source.trained import (
    assert_port_verified,
    assert_trains_alike,
    assert_workload_verified,
    source_of,
)
from tests.legacy.variants.programs import TOWERS, lifted, sum_of_squares, towers, weights

v1 = tf.compat.v1


def program(divisor, penalty=0.0):
    def build():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        xs = tf.split(x, TOWERS)
        total = tf.add_n(towers(lambda tower: sum_of_squares(xs[tower])))
        loss = total / divisor(x)
        loss = loss + penalty * tf.nn.l2_loss(weights()) if penalty else loss
        return v1.train.MomentumOptimizer(0.125, 0.5).minimize(loss)

    return build


def size(x):
    return tf.cast(tf.shape(x)[0], tf.float32)


@pytest.mark.parametrize(
    "divisor, text",
    [
        (size, "/ (scope.replicas * batch_size)"),
        (lambda x: 3.0 * size(x), "scope.replicas * batch_size"),
    ],
)
def test_the_size_of_the_batch_divides_each_towers_loss(divisor, text, tmp_path):
    setup = lifted(program(divisor), tmp_path)
    source = source_of(setup, "workload")
    assert text in source.text and 'combine: str = "sum"' in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
    other = assert_workload_verified(
        setup, tmp_path, source, changed=lambda text: text.replace("scope.replicas * batch_size", "7.0 * batch_size")
    )
    assert not other.passed and other.first.stage == "loss"


def test_a_number_of_all_towers_data_divides_each_towers_gradients(tmp_path):
    setup = lifted(program(lambda x: tf.reduce_sum(tf.abs(x))), tmp_path)
    source = source_of(setup, "workload")
    assert 'factor = 1.0 / tf.reduce_sum(tf.abs(scope.of_all(batch["x"])))' in source.text
    assert "the same data" not in source.text
    for replicas in (2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)
    other = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace("scope.of_all(", "("))
    assert not other.passed


@pytest.mark.parametrize("divisor, number", [(lambda x: 3.0 * size(x), 30.0), (lambda x: tf.reduce_sum(x), None)])
def test_the_number_below_the_losses_follows_from_the_examples(divisor, number, tmp_path):
    lift = lifted(program(divisor), tmp_path).job.workload
    assert number_below_losses(lift.plan, lift.graph, lift.plan.phases[0], 10) == number
