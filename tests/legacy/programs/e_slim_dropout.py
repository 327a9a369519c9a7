"""TensorFlow 1.15: slim layers with dropout and weight decay, RMSProp with momentum, slim's clone scopes."""
import sys

import numpy as np
import tensorflow as tf

import recorder

slim = tf.contrib.slim
NUM_CLONES, BATCH = 2, 8
tf.logging.set_verbosity(tf.logging.ERROR)


def network(images, keep_prob):
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(0.004)):
        net = slim.conv2d(images, 4, [3, 3], scope="conv1")
        net = slim.max_pool2d(net, [2, 2], scope="pool1")
        net = slim.flatten(net)
        net = slim.fully_connected(net, 8, scope="fc1")
        net = slim.dropout(net, keep_prob, scope="dropout1")
        return slim.fully_connected(net, 4, activation_fn=None, scope="logits")


def main():
    rng = np.random.RandomState(5)
    tf.set_random_seed(5)
    global_step = slim.create_global_step()
    images = tf.placeholder(tf.float32, [NUM_CLONES * BATCH, 6, 6, 1], name="images")
    labels = tf.placeholder(tf.float32, [NUM_CLONES * BATCH, 4], name="one_hot")
    keep_prob = tf.placeholder(tf.float32, name="keep_prob")
    opt = tf.train.RMSPropOptimizer(0.01, decay=0.9, momentum=0.9, epsilon=1.0)
    image_splits, label_splits = tf.split(images, NUM_CLONES), tf.split(labels, NUM_CLONES)
    grads, losses = [], []
    for i in range(NUM_CLONES):
        with tf.name_scope("clone_%d" % i) as scope, tf.device("/device:GPU:%d" % i):
            with tf.variable_scope(tf.get_variable_scope(), reuse=i > 0):
                with slim.arg_scope([slim.model_variable, slim.variable], device="/device:CPU:0"):
                    logits = network(image_splits[i], keep_prob)
            slim.losses.softmax_cross_entropy(logits, label_splits[i], label_smoothing=0.1)
            total = tf.add_n(tf.get_collection(tf.GraphKeys.LOSSES, scope))
            if i == 0:
                total += tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
            total /= NUM_CLONES
            losses.append(total)
            grads.append(opt.compute_gradients(total))
    summed = []
    for pairs in zip(*grads):
        present = [g for g, _ in pairs if g is not None]
        summed.append((tf.add_n(present, name=pairs[0][1].op.name + "/sum_grads"), pairs[0][1]))
    update = opt.apply_gradients(summed, global_step=global_step)
    with tf.control_dependencies([update]):
        train_tensor = tf.identity(tf.add_n(losses), name="train_op")
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        recorder.start(sys.argv[1], 20)
        for step in range(20):
            x = rng.rand(NUM_CLONES * BATCH, 6, 6, 1)
            y = np.eye(4)[(x.mean((1, 2, 3)) * 8).astype(int) % 4]
            value = sess.run(train_tensor, {images: x, labels: y, keep_prob: 0.75})
    print(value)


main()
