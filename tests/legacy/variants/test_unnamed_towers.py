"""Lifts of loops over towers that open neither devices nor name scopes."""

import tensorflow as tf

from tests.legacy.source.trained import assert_port_verified, source_of
from tests.legacy.variants.programs import assert_same, lifted

v1 = tf.compat.v1


def energies():
    """Two towers of an energy model: samples descend the energy in a loop, and a weight is normalized before them."""
    w = v1.get_variable("w", [3, 4], initializer=v1.random_normal_initializer(seed=1))
    u = v1.get_variable("u", [1, 4], initializer=v1.ones_initializer(), trainable=False)
    b = v1.get_variable("b", [4], initializer=v1.zeros_initializer())
    v = tf.stop_gradient(tf.nn.l2_normalize(tf.matmul(u, w, transpose_b=True)))
    new = tf.stop_gradient(tf.nn.l2_normalize(tf.matmul(v, w)))
    with tf.control_dependencies([v1.assign(u, new)]):
        normed = w / tf.matmul(tf.matmul(v, w), new, transpose_b=True)

    def energy(x):
        return tf.reduce_sum(tf.tanh(tf.matmul(x, normed) + b), 1)

    def descend(i, x):
        x = x + v1.random_normal(tf.shape(x), stddev=0.1)
        return i + 1, x - 0.1 * tf.gradients(energy(x), x)[0]

    optimizer, towers = v1.train.AdamOptimizer(0.01, beta1=0.0), []
    data, noise = (v1.placeholder(tf.float32, [None, 3], name) for name in ("data", "noise"))
    for real, start in zip(tf.split(data, 2), tf.split(noise, 2)):
        positive = energy(real)
        _, sample = v1.while_loop(lambda i, x: i < 2, descend, (tf.constant(0), start))
        negative = energy(tf.stop_gradient(sample))
        loss = tf.reduce_mean(positive) - tf.reduce_mean(negative)
        loss = loss + tf.reduce_mean(tf.square(positive)) + tf.reduce_mean(tf.square(negative))
        towers.append(optimizer.compute_gradients(loss, [w, b]))
    means = [(tf.reduce_mean(tf.stack([g for g, _ in pairs]), 0), pairs[0][1]) for pairs in zip(*towers)]
    return optimizer.apply_gradients(means)


def test_towers_without_devices_and_scopes_are_lifted_and_written(tmp_path):
    v1.disable_control_flow_v2()
    try:
        setup = lifted(energies, tmp_path)
    finally:
        v1.enable_control_flow_v2()
    assert setup.job.workload.plan.towers == 2
    assert_same(setup, steps=3)
    assert_port_verified(setup, tmp_path, source_of(setup, "workload"), steps=3)
