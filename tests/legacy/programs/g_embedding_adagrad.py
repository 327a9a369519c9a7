"""TensorFlow 1.15: four towers, Adagrad, an embedding with sparse gradients, concatenated over the towers."""
import sys

import numpy as np
import tensorflow as tf

import recorder

N, BATCH, WORDS = 4, 6, 20
tf.logging.set_verbosity(tf.logging.ERROR)


def average(tower_grads):
    result = []
    for pairs in zip(*tower_grads):
        if isinstance(pairs[0][0], tf.IndexedSlices):
            values = tf.concat([g.values for g, _ in pairs], 0)
            indices = tf.concat([g.indices for g, _ in pairs], 0)
            grad = tf.IndexedSlices(values / N, indices)
        else:
            grad = tf.add_n([g for g, _ in pairs]) / N
        result.append((grad, pairs[0][1]))
    return result


def main():
    rng = np.random.RandomState(7)
    tf.set_random_seed(7)
    words = tf.placeholder(tf.int32, [N * BATCH, 3], name="words")
    score = tf.placeholder(tf.float32, [N * BATCH], name="score")
    opt = tf.train.AdagradOptimizer(0.5)
    grads, losses = [], []
    for i, (w, s) in enumerate(zip(tf.split(words, N), tf.split(score, N))):
        with tf.device("/gpu:%d" % i), tf.name_scope("tower_%d" % i), tf.variable_scope("lm", reuse=i > 0):
            with tf.device("/cpu:0"):
                table = tf.get_variable("embedding", [WORDS, 4])
                e = tf.nn.embedding_lookup(table, w)
            out = tf.layers.dense(tf.reshape(e, [-1, 12]), 1, name="out")
            loss = tf.reduce_mean(tf.square(tf.squeeze(out, 1) - s))
            losses.append(loss)
            grads.append(opt.compute_gradients(loss))
    train_op = opt.apply_gradients(average(grads))
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        recorder.start(sys.argv[1], 20)
        for _ in range(20):
            w = rng.randint(0, WORDS, (N * BATCH, 3))
            value, _ = sess.run([losses, train_op], {words: w, score: w.sum(1) / 30.0 - 1})
    print(value)


main()
