"""TensorFlow 1.15: gradients are summed, then clipped by their global norm; inverse square-root warm-up (Noam) schedule."""
import sys

import numpy as np
import tensorflow as tf

import recorder

N, BATCH = 2, 8
tf.logging.set_verbosity(tf.logging.ERROR)


def main():
    rng = np.random.RandomState(6)
    tf.set_random_seed(6)
    step = tf.train.get_or_create_global_step()
    warm = tf.to_float(step + 1)
    lr = 0.2 * tf.minimum(warm ** -0.5, warm * 8.0 ** -1.5)
    opt = tf.train.GradientDescentOptimizer(lr)
    holders, grads, losses = [], [], []
    for i in range(N):
        with tf.device("/gpu:%d" % i), tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            x = tf.placeholder(tf.float32, [BATCH, 5])
            y = tf.placeholder(tf.float32, [BATCH, 2])
            w = tf.get_variable("w", [5, 6], initializer=tf.random_normal_initializer(stddev=0.5))
            v = tf.get_variable("v", [6, 2], initializer=tf.random_normal_initializer(stddev=0.5))
            loss = tf.nn.l2_loss(tf.matmul(tf.nn.elu(tf.matmul(x, w)), v) - y)
            holders.append((x, y))
            losses.append(loss)
            grads.append(opt.compute_gradients(loss))
    total = []
    for pairs in zip(*grads):
        g = pairs[0][0]
        for other, _ in pairs[1:]:
            g = g + other
        total.append((g, pairs[0][1]))
    clipped, norm = tf.clip_by_global_norm([g for g, _ in total], 5.0)
    train_op = opt.apply_gradients(zip(clipped, [v for _, v in total]), step)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        recorder.start(sys.argv[1], 20)
        for _ in range(20):
            feed = {}
            for x, y in holders:
                feed[x] = rng.randn(BATCH, 5)
                feed[y] = feed[x][:, :2] ** 2
            _, value = sess.run([train_op, losses], feed)
    print(value)


main()
