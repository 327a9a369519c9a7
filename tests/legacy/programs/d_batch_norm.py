"""TensorFlow 1.15: tf.layers with batch norm, UPDATE_OPS of the first tower only, momentum, an is_training placeholder."""
import sys

import numpy as np
import tensorflow as tf

import recorder

NUM_GPUS, BATCH = 2, 8
tf.logging.set_verbosity(tf.logging.ERROR)


def resnet(x, is_training):
    x = tf.layers.conv2d(x, 4, 3, padding="same", use_bias=False, name="conv0")
    x = tf.nn.relu(tf.layers.batch_normalization(x, training=is_training, name="bn0"))
    y = tf.layers.conv2d(x, 4, 3, padding="same", use_bias=False, name="conv1")
    y = tf.layers.batch_normalization(y, training=is_training, fused=False, name="bn1")
    x = tf.reduce_mean(tf.nn.relu(x + y), [1, 2])
    return tf.layers.dense(x, 3, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.01), name="fc")


def main():
    rng = np.random.RandomState(4)
    tf.set_random_seed(4)
    x_ph = tf.placeholder(tf.float32, [None, 6, 6, 2], "x")
    y_ph = tf.placeholder(tf.int32, [None], "y")
    is_training = tf.placeholder(tf.bool, [], "is_training")
    global_step = tf.Variable(0, trainable=False, name="global_step")
    opt = tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True)
    tower_grads, tower_losses = [], []
    with tf.variable_scope(tf.get_variable_scope()) as outer:
        for i in range(NUM_GPUS):
            with tf.device("/gpu:%d" % i), tf.name_scope("tower%d" % i) as scope:
                x = x_ph[i * BATCH : (i + 1) * BATCH]
                y = y_ph[i * BATCH : (i + 1) * BATCH]
                logits = resnet(x, is_training)
                loss = tf.losses.sparse_softmax_cross_entropy(y, logits, scope="xent")
                loss += sum(tf.losses.get_regularization_losses(scope))
                outer.reuse_variables()
                if i == 0:
                    update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope)
                tower_losses.append(loss)
                tower_grads.append(opt.compute_gradients(loss, colocate_gradients_with_ops=True))
    with tf.device("/cpu:0"), tf.name_scope("average"):
        grads = [(tf.reduce_mean(tf.stack([g for g, _ in p]), 0), p[0][1]) for p in zip(*tower_grads)]
        mean_loss = tf.reduce_mean(tower_losses)
    with tf.control_dependencies(update_ops):
        train_op = opt.apply_gradients(grads, global_step)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        recorder.start(sys.argv[1], 20)
        for step in range(20):
            x = rng.rand(NUM_GPUS * BATCH, 6, 6, 2)
            y = (x.mean((1, 2, 3)) * 3).astype(int) % 3
            value, _ = sess.run([mean_loss, train_op], {x_ph: x, y_ph: y, is_training: True})
    print(value)


main()
