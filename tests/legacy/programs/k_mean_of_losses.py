"""TensorFlow 1.15: no tower gradients: one optimizer minimizes the mean of the tower losses; tied weights; the same
regularizer once, outside the towers."""
import sys

import numpy as np
import tensorflow as tf

import recorder

N, BATCH = 2, 8
tf.logging.set_verbosity(tf.logging.ERROR)


def tower(x, y):
    with tf.variable_scope("auto", reuse=tf.AUTO_REUSE):
        w = tf.get_variable("w", [6, 4], initializer=tf.glorot_uniform_initializer())
        b = tf.get_variable("b", [4], initializer=tf.zeros_initializer())
        c = tf.get_variable("c", [6], initializer=tf.zeros_initializer())
    code = tf.sigmoid(tf.matmul(x, w) + b)
    return tf.reduce_mean(tf.square(tf.matmul(code, w, transpose_b=True) + c - y))


def main():
    rng = np.random.RandomState(11)
    tf.set_random_seed(11)
    x_ph = tf.placeholder(tf.float32, [None, 6], name="x")
    y_ph = tf.placeholder(tf.float32, [None, 6], name="y")
    losses = []
    for i, (x, y) in enumerate(zip(tf.split(x_ph, N), tf.split(y_ph, N))):
        with tf.device(tf.DeviceSpec(device_type="GPU", device_index=i)):
            losses.append(tower(x, y))
    with tf.device("/cpu:0"):
        loss = tf.reduce_mean(tf.stack(losses, axis=0))
        loss += 0.001 * tf.nn.l2_loss(tf.trainable_variables()[0])
        step = tf.train.get_or_create_global_step()
        opt = tf.train.AdamOptimizer(0.01, beta2=0.98)
        train_op = opt.minimize(loss, global_step=step, colocate_gradients_with_ops=True)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        recorder.start(sys.argv[1], 20)
        for _ in range(20):
            x = rng.rand(N * BATCH, 6)
            _, value = sess.run([train_op, loss], {x_ph: x, y_ph: x[:, ::-1]})
    print(value)


main()
