"""TensorFlow 1.15: a tf.data iterator, resource variables, piecewise_constant, batch norm updated by every tower."""
import sys

import numpy as np
import tensorflow as tf

import recorder

N, BATCH = 2, 8
tf.logging.set_verbosity(tf.logging.ERROR)
tf.enable_resource_variables()


def main():
    rng = np.random.RandomState(10)
    tf.set_random_seed(10)
    x, y = rng.randn(80, 7).astype(np.float32), rng.randint(0, 3, 80)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(80, seed=1).repeat().batch(BATCH, drop_remainder=True)
    iterator = tf.data.make_one_shot_iterator(dataset)
    global_step = tf.train.get_or_create_global_step()
    lr = tf.train.piecewise_constant(global_step, [6, 12], [0.1, 0.05, 0.01])
    opt = tf.train.MomentumOptimizer(lr, 0.9)
    grads, losses = [], []
    for i in range(N):
        with tf.device("/gpu:%d" % i), tf.name_scope("tower_%d" % i), tf.variable_scope("net", reuse=i > 0):
            xb, yb = iterator.get_next()
            h = tf.layers.dense(xb, 6, use_bias=False, name="h")
            h = tf.nn.relu(tf.layers.batch_normalization(h, training=True, momentum=0.9, name="bn"))
            logits = tf.layers.dense(h, 3, name="logits")
            loss = tf.losses.sparse_softmax_cross_entropy(yb, logits)
            losses.append(loss)
            grads.append(opt.compute_gradients(loss, tf.trainable_variables()))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        pairs = [(tf.add_n([g for g, _ in p]) / len(p), p[0][1]) for p in zip(*grads)]
        train_op = opt.apply_gradients(pairs, global_step)
    recorder.start(sys.argv[1], 20)
    with tf.train.MonitoredSession(
        tf.train.ChiefSessionCreator(config=tf.ConfigProto(allow_soft_placement=True))
    ) as sess:
        for _ in range(20):
            _, value = sess.run([train_op, losses])
    print(value)


main()
