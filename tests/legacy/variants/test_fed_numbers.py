"""Numbers that the update computes from scalars which the program feeds: the lift is given the scalars alone."""

import dataclasses

import pytest
import tensorflow as tf

from tests.legacy.variants.programs import (
    TOWERS,
    assert_same,
    gradient_of,
    lifted,
    setup_of,
    split_batch,
    towers,
    weights,
)

v1 = tf.compat.v1


def bias():
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable("b", [2], initializer=v1.zeros_initializer(), use_resource=False)


def of_two_rates(other):
    """A train op that multiplies the fed rate for the bias by what `other` makes of it."""

    def build():
        x, rate = split_batch(), v1.placeholder(tf.float32, [], "rate")

        def gradients(tower):
            loss = tf.reduce_sum(tf.square(tf.matmul(x[tower], weights()) + bias()))
            return tf.gradients(loss, [weights(), bias()])

        of_weights, of_biases = (tf.add_n(row) / TOWERS for row in zip(*towers(gradients)))
        update = v1.train.GradientDescentOptimizer(rate).apply_gradients([(of_weights, weights())])
        other_rate = v1.train.GradientDescentOptimizer(other(rate))
        return tf.group(update, other_rate.apply_gradients([(of_biases, bias())]))

    return build


@pytest.mark.parametrize("other", [lambda rate: 2.0 * rate, lambda rate: tf.maximum(rate / 4.0, 0.125)])
def test_a_multiple_of_a_fed_rate_is_no_input(other, tmp_path):
    setup = lifted(of_two_rates(other), tmp_path, settings={"rate": "0.5"})
    plan = setup.job.workload.plan
    assert [entry.name for entry in plan.inputs + plan.common if entry.kind == "setting"] == ["rate"]
    assert_same(setup)


def test_a_decay_of_weights_by_a_fed_rate_runs_on_any_number_of_replicas(tmp_path):
    def build():
        x, rate = split_batch(), v1.placeholder(tf.float32, [], "decay")
        losses = towers(lambda tower: tf.reduce_sum(tf.square(tf.matmul(x[tower], weights()) + bias())))
        total = tf.add_n(losses) / TOWERS + rate * tf.nn.l2_loss(weights())
        return v1.train.GradientDescentOptimizer(0.125).minimize(total, colocate_gradients_with_ops=True)

    setup = lifted(build, tmp_path, settings={"decay": "0.25"})
    combine = setup.job.workload.plan.phases[0].combine
    assert {(one.weight, one.kind, one.affine) for one in combine} == {("net/w", "sum", True), ("net/b", "sum", False)}
    assert_same(setup)
    assert_same(dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas=4), replicated=True))


def test_the_mean_of_what_is_fed_for_all_examples_stays_an_input(tmp_path):
    """Near miss: a number, but of an array."""

    def build():
        x, rewards = split_batch(), v1.placeholder(tf.float32, [TOWERS * 4], "rewards")
        gradient = tf.add_n(towers(lambda tower: gradient_of(x[tower]))) / TOWERS
        rate = 0.125 * tf.reduce_mean(rewards)
        return v1.train.GradientDescentOptimizer(rate).apply_gradients([(gradient, weights())])

    plan = lifted(build, tmp_path).job.workload.plan
    assert "rewards:0" not in [name for entry in plan.common for name in entry.tensors]
