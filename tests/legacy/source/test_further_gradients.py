"""Weights with several gradients in one train op, each for an optimizer of its own."""

import pytest
import tensorflow as tf

from legacy.source.step.derivatives import with_derivatives
from legacy.source.step.further_gradients import further_gradients
from legacy.source.update.paths import find_path
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers

v1 = tf.compat.v1


def weight(name, shape):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)


def encoder():
    return [weight("encoder/w", [3, 3]), weight("encoder/b", [1, 3])]


def losses_of(x):
    """What an autoencoder reconstructs, and how far its code is from unit length."""
    kernel, bias = encoder()
    code = tf.tanh(tf.matmul(x, kernel) + bias)
    reconstructed = tf.matmul(code, weight("decoder/w", [3, 3]))
    return tf.reduce_mean(tf.square(reconstructed - x)), tf.reduce_mean(tf.square(tf.reduce_sum(code**2, 1) - 1.0))


def two_optimizers(second_of_the_same=False, reduce=lambda pair: tf.add_n(pair) / TOWERS):
    """Both train the encoder, of the same loss or of two."""

    def step():
        xs = split_batch()
        adam, momentum = v1.train.AdamOptimizer(0.125), v1.train.MomentumOptimizer(0.25, 0.5)
        everything = [*encoder(), weight("decoder/w", [3, 3])]

        def gradients(tower):
            losses = losses_of(xs[tower])
            second = losses[0 if second_of_the_same else 1]
            return tf.gradients(losses[0], everything) + tf.gradients(second, encoder())

        pairs = [list(pair) for pair in zip(*towers(gradients))]
        first, second = [tf.add_n(pair) / TOWERS for pair in pairs[:3]], [reduce(pair) for pair in pairs[3:]]
        trained = adam.apply_gradients(zip(first, everything))
        with tf.control_dependencies([trained]):
            return momentum.apply_gradients(zip(second, encoder()))

    return step


@pytest.mark.parametrize("second_of_the_same", [False, True])
def test_each_optimizer_gets_its_gradients_of_the_weights_of_both(second_of_the_same, tmp_path):
    setup = lifted(two_optimizers(second_of_the_same), tmp_path)
    source = source_of(setup, "workload")
    assert "context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients2)" in source.text
    assert source.text.count("scope.gradients(") == 2 + (not second_of_the_same) and "gather(" not in source.text
    assert "have the old graph's bits" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path, source_of(setup))


def test_the_gradient_of_the_other_optimizer_is_seen(tmp_path):
    setup = lifted(two_optimizers(), tmp_path)

    def exchanged(text):
        assert "grad=gradients2[" in text
        return text.replace("grad=gradients2[", "grad=gradients[")

    other = assert_port_verified(setup, tmp_path, source_of(setup, "workload"), changed=exchanged)
    assert not other.passed and other.first.stage in ("weights", "slots")


def test_gradients_that_are_combined_otherwise_are_gathered(tmp_path):
    setup = lifted(two_optimizers(reduce=lambda pair: tf.maximum(*pair)), tmp_path)
    plan, graph = setup.job.workload.plan, setup.job.workload.graph
    path = find_path(with_derivatives(plan, graph), graph, plan.phases[0])
    assert (path.combine, list(path.further)) == ("", []) and callable(further_gradients)
    source = source_of(setup, "workload")
    assert "gather(context, gradient)" in source.text and "gradients2" not in source.text
    assert_port_verified(setup, tmp_path, source)
