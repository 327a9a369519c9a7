"""Sources of towers that are fed sequences with time first, of as many examples as their labels have."""

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_workload_verified, source_of
from tests.legacy.variants.programs import lifted, towers

v1 = tf.compat.v1
STEPS = 8


def loss_of_series(_):
    """An RNN of one number at each time, whose last state is compared with the next number."""
    x, y = v1.placeholder(tf.float32, [STEPS, None], "x"), v1.placeholder(tf.float32, [None], "y")
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        w = v1.get_variable("w", [3, 2], initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)
        out = v1.get_variable("out", [2, 1], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)
    state = tf.zeros([tf.shape(x)[1], 2])
    for step in range(STEPS):
        state = tf.tanh(tf.concat([tf.reshape(x[step], [-1, 1]), state], 1) @ w)
    loss = tf.reduce_mean(tf.abs(tf.reshape(state @ out, [-1]) - y))
    return [loss, *tf.gradients(loss, [w, out])]


def series():
    results = towers(loss_of_series)
    gradients = [tf.reduce_mean(tf.stack(both), 0) for both in zip(*[row[1:] for row in results])]
    return v1.train.AdamOptimizer(0.01).apply_gradients(list(zip(gradients, v1.trainable_variables())))


@pytest.mark.parametrize("style", ["workload", "standalone"])
def test_examples_of_a_sequence_follow_the_batch(style, tmp_path):
    setup = lifted(series, tmp_path)
    assert setup.job.workload.plan.batch == STEPS
    made = source_of(setup, style)
    assert f"({STEPS}, {STEPS})" in made.text
    if style == "workload":
        assert_workload_verified(setup, tmp_path, made)
