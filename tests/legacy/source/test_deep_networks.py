"""Deep networks: units in a row are a loop over one function, with the old graph's bits."""

from __future__ import annotations

import functools

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers

v1 = tf.compat.v1


def residual_net(units=10, changed=None):
    """Residual units with a penalty on all kernels; one may have another scope."""
    xs = split_batch()

    def dense(x, name, size):
        with v1.variable_scope(name):
            kernel = v1.get_variable("kernel", [int(x.shape[-1]), size], use_resource=False)
            bias = v1.get_variable("bias", [size], initializer=v1.zeros_initializer(), use_resource=False)
        return tf.nn.bias_add(tf.matmul(x, kernel), bias), kernel

    def gradients_of(tower):
        kernels = []
        with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
            x, kernel = dense(xs[tower], "stem", 6)
            kernels.append(kernel)
            for number in range(units):
                with v1.variable_scope("odd" if number == changed else f"unit_{number}"):
                    hidden, first = dense(tf.nn.relu(x), "wide", 8)
                    inner, second = dense(tf.tanh(hidden), "narrow", 6)
                x = x + inner * 0.25
                kernels += [first, second]
            out, kernel = dense(x, "out", 2)
            kernels.append(kernel)
            penalty = sum(0.01 * tf.nn.l2_loss(kernel) for kernel in kernels)
            return tf.gradients(tf.reduce_mean(tf.square(out)) + penalty, v1.trainable_variables())

    gradients = [tf.add_n(list(pair)) / TOWERS for pair in zip(*towers(gradients_of))]
    return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip(gradients, v1.trainable_variables()))


@pytest.mark.parametrize("style", ["workload", "standalone"])
def test_units_in_a_row_are_a_loop_and_penalties_name_no_weight(style, tmp_path):
    setup = lifted(residual_net, tmp_path)
    source = source_of(setup, style)
    assert "    for unit in range(10):\n" in source.text and 'f"net/unit_{unit}' in source.text
    assert 'for name in scope.names("/kernel")' in source.text and "net/unit_3" not in source.text
    if style == "workload":
        assert_workload_verified(setup, tmp_path, source)
    else:
        assert_trains_alike(setup, tmp_path, source)


def test_a_unit_of_another_scope_divides_the_loop(tmp_path):
    setup = lifted(functools.partial(residual_net, changed=5), tmp_path)
    text = source_of(setup, "workload").text
    assert "    for unit in range(5):\n" in text and "    for unit in range(6, 10):\n" in text


def test_another_order_of_units_is_seen(tmp_path):
    """The negative control: a loop that runs backwards has other bits."""

    def backwards(text):
        return text.replace("in range(10)", "in reversed(range(10))")

    setup = lifted(residual_net, tmp_path)
    assert not assert_workload_verified(setup, tmp_path, source_of(setup, "workload"), backwards).passed
