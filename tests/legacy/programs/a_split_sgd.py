"""TensorFlow 0.12, Python 2.7: one placeholder, split over the towers; plain SGD; a hand-written average."""
import sys

import numpy as np
import tensorflow as tf

import recorder

NUM_GPUS, BATCH = 2, 16


def inference(x):
    w1 = tf.get_variable("w1", [12, 8], initializer=tf.truncated_normal_initializer(stddev=0.3))
    b1 = tf.get_variable("b1", [8], initializer=tf.constant_initializer(0.1))
    h = tf.nn.relu(tf.matmul(x, w1) + b1)
    w2 = tf.get_variable("w2", [8, 4], initializer=tf.truncated_normal_initializer(stddev=0.3))
    b2 = tf.get_variable("b2", [4], initializer=tf.constant_initializer(0.0))
    return tf.matmul(h, w2) + b2


def average_gradients(tower_grads):
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = [tf.expand_dims(g, 0) for g, _ in grad_and_vars]
        grad = tf.reduce_mean(tf.concat(0, grads), 0)
        average_grads.append((grad, grad_and_vars[0][1]))
    return average_grads


def main():
    np.random.seed(1)
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        tf.set_random_seed(1)
        images = tf.placeholder(tf.float32, [NUM_GPUS * BATCH, 12], name="images")
        labels = tf.placeholder(tf.int64, [NUM_GPUS * BATCH], name="labels")
        xs = tf.split(0, NUM_GPUS, images)
        ys = tf.split(0, NUM_GPUS, labels)
        opt = tf.train.GradientDescentOptimizer(0.1)
        tower_grads = []
        with tf.variable_scope("net") as scope:
            for i in xrange(NUM_GPUS):  # noqa: F821
                with tf.device("/gpu:%d" % i), tf.name_scope("tower_%d" % i):
                    logits = inference(xs[i])
                    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits, ys[i]), name="loss")
                    scope.reuse_variables()
                    tower_grads.append(opt.compute_gradients(loss))
        train_op = opt.apply_gradients(average_gradients(tower_grads))
        init = tf.initialize_all_variables()
        sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
        sess.run(init)
        recorder.start(sys.argv[1], 20)
        for step in range(20):
            x = np.random.rand(NUM_GPUS * BATCH, 12).astype(np.float32)
            y = (x.sum(1) * 4 / 12).astype(np.int64)
            _, value = sess.run([train_op, loss], {images: x, labels: y})
        print("loss %.4f" % value)


main()
