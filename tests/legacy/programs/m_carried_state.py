"""TensorFlow 1.15: a truncated-backpropagation LSTM whose state stays in local variables, one set per tower."""
import sys

import numpy as np
import tensorflow as tf

import recorder

N, BATCH, TIME, UNITS, WORDS = 2, 4, 3, 5, 11
tf.logging.set_verbosity(tf.logging.ERROR)


def main():
    rng = np.random.RandomState(13)
    tf.set_random_seed(13)
    text = tf.placeholder(tf.int32, [N * BATCH, TIME + 1], name="text")
    opt = tf.train.AdagradOptimizer(0.2, initial_accumulator_value=1.0)
    grads, losses, carry = [], [], []
    for i, part in enumerate(tf.split(text, N, 0)):
        with tf.device("/gpu:%d" % i), tf.name_scope("gpu_%d" % i):
            with tf.variable_scope("state_%d" % i):
                c = tf.get_variable("c", [BATCH, UNITS], initializer=tf.zeros_initializer(), trainable=False,
                                    collections=[tf.GraphKeys.LOCAL_VARIABLES])
                h = tf.get_variable("h", [BATCH, UNITS], initializer=tf.zeros_initializer(), trainable=False,
                                    collections=[tf.GraphKeys.LOCAL_VARIABLES])
            with tf.variable_scope("lstm", reuse=i > 0):
                table = tf.get_variable("table", [WORDS, 4])
                cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
                state = tf.nn.rnn_cell.LSTMStateTuple(c, h)
                outputs = []
                for t in range(TIME):
                    output, state = cell(tf.nn.embedding_lookup(table, part[:, t]), state)
                    outputs.append(output)
                logits = tf.layers.dense(tf.stack(outputs, 1), WORDS, name="softmax")
            xent = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=part[:, 1:], logits=logits)
            loss = tf.reduce_sum(xent) / BATCH
            losses.append(loss)
            grads.append(opt.compute_gradients(loss))
            with tf.control_dependencies([loss] + [g for g, _ in grads[-1] if isinstance(g, tf.Tensor)]):
                carry += [tf.assign(c, state.c), tf.assign(h, state.h)]
    pairs = []
    for p in zip(*grads):
        dense = [tf.convert_to_tensor(g) for g, _ in p]
        pairs.append((tf.add_n(dense) / N, p[0][1]))
    clipped, _ = tf.clip_by_global_norm([g for g, _ in pairs], 1.0)
    train_op = tf.group(opt.apply_gradients(zip(clipped, [v for _, v in pairs])), *carry)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        recorder.start(sys.argv[1], 20)
        for _ in range(20):
            start = rng.randint(0, WORDS, (N * BATCH, 1))
            value, _ = sess.run([losses, train_op], {text: (start + np.arange(TIME + 1)) % WORDS})
    print(value)


main()
