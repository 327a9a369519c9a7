"""TensorFlow 1.4, Python 2.7: Adam; each tower clips its gradients by their global norm; a placeholder set per tower."""
import sys

import numpy as np
import tensorflow as tf

import recorder

NUM_GPUS, BATCH = 2, 8


def model(x, y):
    h = tf.layers.dense(x, 10, activation=tf.tanh, name="hidden")
    out = tf.layers.dense(h, 1, name="out")
    return tf.reduce_mean(tf.squared_difference(out[:, 0], y))


def main():
    np.random.seed(2)
    tf.set_random_seed(2)
    lr = tf.placeholder(tf.float32, [], name="learning_rate")
    opt = tf.train.AdamOptimizer(lr)
    inputs, tower_grads, losses = [], [], []
    for i in range(NUM_GPUS):
        with tf.variable_scope("model", reuse=i > 0), tf.device("/gpu:%d" % i):
            x = tf.placeholder(tf.float32, [None, 6], name="x%d" % i)
            y = tf.placeholder(tf.float32, [None], name="y%d" % i)
            loss = model(x, y)
            params = tf.trainable_variables()
            grads, norm = tf.clip_by_global_norm(tf.gradients(loss, params), 0.5)
            inputs.append((x, y))
            losses.append(loss)
            tower_grads.append(grads)
    averaged = [tf.add_n(list(gs)) / NUM_GPUS for gs in zip(*tower_grads)]
    train_op = opt.apply_gradients(zip(averaged, params))
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        recorder.start(sys.argv[1], 20)
        for step in range(20):
            feed = {lr: 0.01 if step < 10 else 0.003}
            for x, y in inputs:
                feed[x] = np.random.randn(BATCH, 6)
                feed[y] = np.sin(feed[x].sum(1)) * 3
            value, _ = sess.run([tf.get_collection("losses") or losses, train_op], feed)
    print(value)


main()
