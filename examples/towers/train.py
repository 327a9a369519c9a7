"""A tower program as people wrote them in 2017: a small convolutional network on two GPUs (TensorFlow 0.12 to 1.15).

    python -m pip install tensorflow==1.15.5 protobuf==3.20.3      # Python 3.7
    python train.py --data=digits.npz

`model.ckpt-400.*` beside this file is what it saved when it ran: the old program of docs/tutorials/migrate.md.
"""

from __future__ import absolute_import, division, print_function

import argparse

import numpy as np
import tensorflow as tf

TOWERS, BATCH, STEPS = 2, 64, 400
WEIGHT_DECAY = 1e-3


def variable(name, shape, stddev=None):
    """A weight with weight decay, or, without `stddev`, a bias."""
    if stddev is None:
        return tf.get_variable(name, shape, initializer=tf.zeros_initializer())
    weights = tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=stddev))
    tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(weights), WEIGHT_DECAY))
    return weights


def inference(pixels):
    with tf.variable_scope("conv"):
        x = tf.reshape(pixels, [-1, 8, 8, 1])
        x = tf.nn.conv2d(x, variable("weights", [3, 3, 1, 16], 0.3), [1, 1, 1, 1], "SAME")
        x = tf.nn.relu(tf.nn.bias_add(x, variable("biases", [16])))
        x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    with tf.variable_scope("output"):
        x = tf.reshape(x, [-1, 4 * 4 * 16])
        return tf.nn.bias_add(tf.matmul(x, variable("weights", [4 * 4 * 16, 10], 0.1)), variable("biases", [10]))


def tower_loss(scope, pixels, labels):
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=inference(pixels))
    tf.add_to_collection("losses", tf.reduce_mean(entropy))
    return tf.add_n(tf.get_collection("losses", scope), name="total_loss")


def average_gradients(tower_grads):
    average = []
    for grads_and_vars in zip(*tower_grads):
        stacked = tf.stack([grad for grad, _ in grads_and_vars])
        average.append((tf.reduce_mean(stacked, 0), grads_and_vars[0][1]))
    return average


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="digits.npz")
    parser.add_argument("--save", default="model.ckpt")
    flags = parser.parse_args()
    data = np.load(flags.data)
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        tf.set_random_seed(1)
        global_step = tf.get_variable("global_step", [], tf.int64, tf.zeros_initializer(), trainable=False)
        rate = tf.train.exponential_decay(0.05, global_step, 200, 0.5, staircase=True)
        optimizer = tf.train.MomentumOptimizer(rate, 0.9)
        pixels = tf.placeholder(tf.float32, [BATCH, 64], name="pixels")
        labels = tf.placeholder(tf.int32, [BATCH], name="labels")
        tower_pixels, tower_labels = tf.split(pixels, TOWERS), tf.split(labels, TOWERS)
        tower_grads = []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(TOWERS):
                with tf.device("/gpu:%d" % i), tf.name_scope("tower_%d" % i) as scope:
                    loss = tower_loss(scope, tower_pixels[i], tower_labels[i])
                    tf.get_variable_scope().reuse_variables()
                    tower_grads.append(optimizer.compute_gradients(loss))
        train_op = optimizer.apply_gradients(average_gradients(tower_grads), global_step=global_step)
        saver = tf.train.Saver(tf.global_variables())
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(tf.global_variables_initializer())
            order = np.random.RandomState(0)
            for step in range(STEPS):
                chosen = order.randint(len(data["labels"]), size=BATCH)
                feed = {pixels: data["pixels"][chosen], labels: data["labels"][chosen]}
                _, value = session.run([train_op, loss], feed)
                if step % 100 == 99:
                    print("step %d, loss %.3f" % (step + 1, value))
            saver.save(session, flags.save, STEPS)


if __name__ == "__main__":
    main()
