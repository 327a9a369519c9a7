"""TensorFlow 1.15: an LSTM by dynamic_rnn (`while` loops), sequence lengths, gradients clipped after averaging."""
import sys

import numpy as np
import tensorflow as tf

import recorder

N, BATCH, TIME = 2, 4, 5
tf.logging.set_verbosity(tf.logging.ERROR)


def main():
    rng = np.random.RandomState(8)
    tf.set_random_seed(8)
    opt = tf.train.MomentumOptimizer(0.1, 0.9)
    feeds, grads, losses = [], [], []
    for i in range(N):
        with tf.device("/gpu:%d" % i), tf.name_scope("GPU_%d" % i), tf.variable_scope("rnn", reuse=i > 0):
            x = tf.placeholder(tf.float32, [BATCH, TIME, 3], name="x")
            length = tf.placeholder(tf.int32, [BATCH], name="length")
            y = tf.placeholder(tf.int32, [BATCH], name="y")
            cell = tf.nn.rnn_cell.LSTMCell(5)
            out, state = tf.nn.dynamic_rnn(cell, x, sequence_length=length, dtype=tf.float32)
            logits = tf.layers.dense(state.h, 3)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            feeds.append((x, length, y))
            losses.append(loss)
            grads.append(opt.compute_gradients(loss))
    pairs = [(tf.reduce_mean(tf.stack([g for g, _ in p], 0), 0), p[0][1]) for p in zip(*grads)]
    clipped = [(tf.clip_by_norm(g, 0.3), v) for g, v in pairs]
    train_op = opt.apply_gradients(clipped)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        recorder.start(sys.argv[1], 20)
        for _ in range(20):
            feed = {}
            for x, length, y in feeds:
                feed[x] = rng.randn(BATCH, TIME, 3)
                feed[length] = rng.randint(1, TIME + 1, BATCH)
                feed[y] = (feed[x][:, 0].sum(1) > 0).astype(int)
            value, _ = sess.run([losses, train_op], feed)
    print(value)


main()
