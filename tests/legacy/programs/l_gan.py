"""TensorFlow 1.15: a small GAN on towers: two optimizers, two train ops run in turn, weights clipped by value."""
import sys

import numpy as np
import tensorflow as tf

import recorder

N, BATCH, NOISE = 2, 8, 3
tf.logging.set_verbosity(tf.logging.ERROR)


def generator(z):
    with tf.variable_scope("generator", reuse=tf.AUTO_REUSE):
        return tf.layers.dense(tf.layers.dense(z, 8, tf.nn.relu, name="g1"), 2, name="g2")


def discriminator(x):
    with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
        return tf.layers.dense(tf.layers.dense(x, 8, tf.nn.leaky_relu, name="d1"), 1, name="d2")


def average(tower_grads):
    return [(tf.reduce_mean(tf.stack([g for g, _ in p]), 0), p[0][1]) for p in zip(*tower_grads)]


def main():
    rng = np.random.RandomState(12)
    tf.set_random_seed(12)
    real_all = tf.placeholder(tf.float32, [N * BATCH, 2], name="real")
    d_opt, g_opt = tf.train.RMSPropOptimizer(0.005), tf.train.AdamOptimizer(0.01, beta1=0.5)
    d_grads, g_grads = [], []
    for i, real in enumerate(tf.split(real_all, N)):
        with tf.device("/gpu:%d" % i), tf.name_scope("tower_%d" % i):
            fake = generator(tf.random_normal([BATCH, NOISE]))
            d_loss = tf.reduce_mean(discriminator(fake)) - tf.reduce_mean(discriminator(real))
            g_loss = -tf.reduce_mean(discriminator(fake))
            d_vars = [v for v in tf.trainable_variables() if v.name.startswith("disc")]
            g_vars = [v for v in tf.trainable_variables() if v.name.startswith("gen")]
            pairs = d_opt.compute_gradients(d_loss, d_vars)
            d_grads.append([(tf.clip_by_value(g, -0.1, 0.1), v) for g, v in pairs])
            g_grads.append(g_opt.compute_gradients(g_loss, g_vars))
    d_apply = d_opt.apply_gradients(average(d_grads))
    with tf.control_dependencies([d_apply]):
        d_train = tf.group(*[v.assign(tf.clip_by_value(v, -0.5, 0.5)) for v in d_vars], name="d_train")
    g_train = g_opt.apply_gradients(average(g_grads), name="g_train")
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        recorder.start(sys.argv[1], 20)
        for _ in range(10):
            angle = rng.rand(N * BATCH) * 6.28
            data = np.stack([np.cos(angle), np.sin(angle)], 1)
            sess.run(d_train, {real_all: data})
            _, value = sess.run([g_train, g_loss], {real_all: data})
    print(value)


main()
