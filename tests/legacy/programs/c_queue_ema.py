"""TensorFlow 1.15: queue runners, weight decay through a collection, staircase decay, moving averages, MonitoredSession."""
import sys

import numpy as np
import tensorflow as tf

import recorder

NUM_GPUS, BATCH = 2, 8
tf.logging.set_verbosity(tf.logging.ERROR)


def variable_with_decay(name, shape, stddev, wd):
    with tf.device("/cpu:0"):
        var = tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=stddev))
    if wd is not None:
        tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(var), wd, name="weight_loss"))
    return var


def tower_loss(scope, images, labels):
    with tf.variable_scope("conv1"):
        kernel = variable_with_decay("weights", [3, 3, 2, 4], 0.2, None)
        conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
        biases = variable_with_decay("biases", [4], 0.1, None)
        act = tf.nn.relu(tf.nn.bias_add(conv, biases))
    pool = tf.nn.max_pool(act, [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME")
    norm = tf.nn.lrn(pool, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
    with tf.variable_scope("local"):
        flat = tf.reshape(norm, [BATCH, -1])
        weights = variable_with_decay("weights", [flat.get_shape()[1].value, 5], 0.1, 0.04)
        logits = tf.matmul(flat, weights)
    xent = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    tf.add_to_collection("losses", tf.reduce_mean(xent, name="cross_entropy"))
    return tf.add_n(tf.get_collection("losses", scope), name="total_loss")


def average_gradients(tower_grads):
    average = []
    for pairs in zip(*tower_grads):
        grads = tf.concat([tf.expand_dims(g, 0) for g, _ in pairs], 0)
        average.append((tf.reduce_mean(grads, 0), pairs[0][1]))
    return average


def main():
    rng = np.random.RandomState(3)
    tf.set_random_seed(3)
    with tf.device("/cpu:0"):
        global_step = tf.train.get_or_create_global_step()
        data = tf.constant(rng.rand(64, 8, 8, 2).astype(np.float32))
        target = tf.constant(rng.randint(0, 5, 64).astype(np.int32))
        image, label = tf.train.slice_input_producer([data, target], shuffle=True, seed=3)
        images, labels = tf.train.shuffle_batch([image, label], BATCH, 64, 32, seed=3, num_threads=1)
        queue = tf.contrib.slim.prefetch_queue.prefetch_queue([images, labels], capacity=2 * NUM_GPUS)
        lr = tf.train.exponential_decay(0.1, global_step, 6, 0.5, staircase=True)
        opt = tf.train.GradientDescentOptimizer(lr)
        tower_grads = []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(NUM_GPUS):
                with tf.device("/gpu:%d" % i), tf.name_scope("tower_%d" % i) as scope:
                    image_batch, label_batch = queue.dequeue()
                    loss = tower_loss(scope, image_batch, label_batch)
                    tf.get_variable_scope().reuse_variables()
                    tf.summary.scalar("loss", loss)
                    tower_grads.append(opt.compute_gradients(loss))
        grads = average_gradients(tower_grads)
        apply_op = opt.apply_gradients(grads, global_step=global_step)
        ema = tf.train.ExponentialMovingAverage(0.99, global_step)
        averages_op = ema.apply(tf.trainable_variables())
        train_op = tf.group(apply_op, averages_op)
    recorder.start(sys.argv[1], 20)
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(20)], config=config) as sess:
        while not sess.should_stop():
            _, value = sess.run([train_op, loss])
    print(value)


main()
