"""Models and losses of random programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tests.legacy.random_programs.inputs import BATCH, CLASSES
from tests.legacy.random_programs.traits import Traits

v1 = tf.compat.v1
#: Words of the vocabulary; share of the labels that smoothing takes; weights of terms besides.
WORDS, SMOOTHING, AUXILIARY, ENTROPY = 20, 0.1, 0.3, 0.01


def sharing(scope: str) -> Any:
    """Returns the context of a tower's variables: those of the scope "" are all towers'."""
    return v1.variable_scope(scope or v1.get_variable_scope(), reuse=v1.AUTO_REUSE, auxiliary_name_scope=False)


def weight(name: str, *shape: int) -> tf.Variable:
    """A variable by reference, as of 1.x."""
    with sharing(""):
        return v1.get_variable(name, shape, initializer=v1.random_normal_initializer(0, 0.1), use_resource=False)


def _dense(x: tf.Tensor, name: str, units: int) -> tf.Tensor:
    return tf.nn.bias_add(
        tf.matmul(x, weight(name + "/kernel", int(x.shape[-1]), units)), weight(name + "/bias", units)
    )


def _statistic(name: str, value: float, *shape: int) -> tf.Variable:
    with sharing(""):
        initializer = v1.constant_initializer(value)
        return v1.get_variable(name, shape, initializer=initializer, trainable=False, use_resource=False)


def _normalized(x: tf.Tensor) -> tf.Tensor:
    """Batch normalization; its updates are collected."""
    size = int(x.shape[-1])
    mean, variance = tf.nn.moments(x, [0])
    for name, value, start in (("mean", mean, 0.0), ("variance", variance, 1.0)):
        kept = _statistic("norm/moving_" + name, start, size)
        v1.add_to_collection("update_ops", v1.assign_sub(kept, (kept - value) * 0.01))
    return tf.nn.batch_normalization(x, mean, variance, weight("norm/beta", size), weight("norm/gamma", size), 1e-3)


def logits_of(traits: Traits, x: tf.Tensor) -> tf.Tensor:
    """Returns a tower's results, [batch, classes]."""
    if traits.prepared == "noise of each" and traits.model != "embedding":
        x += v1.random_normal(tf.shape(x), stddev=0.1)
    logits = _layers(traits.model, x)
    faults: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
        "rectified logits": tf.nn.relu,
        "softmax twice": tf.nn.softmax,
    }
    return faults.get(traits.fault, lambda x: x)(logits)


def _layers(model: str, x: tf.Tensor) -> tf.Tensor:
    if model == "convolution":
        image = tf.reshape(x, [-1, 4, 3, 1])
        filtered = tf.nn.conv2d(image, weight("conv/kernel", 3, 3, 1, 4), [1, 1, 1, 1], "SAME")
        pooled = tf.nn.max_pool2d(tf.nn.relu(tf.nn.bias_add(filtered, weight("conv/bias", 4))), 2, 2, "SAME")
        return _dense(tf.reshape(pooled, [-1, 2 * 2 * 4]), "out", CLASSES)
    if model == "embedding":
        rows = tf.nn.embedding_lookup(weight("table", WORDS, 6), x)
        return _dense(tf.tanh(tf.reduce_mean(rows, 1)), "out", CLASSES)
    if model == "recurrent":
        state = tf.zeros_like(x[:, :4])
        for time in range(3):
            state = tf.tanh(_dense(tf.concat([x[:, 4 * time : 4 * time + 4], state], 1), "cell", 4))
        return _dense(state, "out", CLASSES)
    hidden = tf.nn.relu(_dense(x, "hidden", 8))
    if model == "dropout":
        hidden = v1.nn.dropout(hidden, keep_prob=0.7)
    if model.startswith("batch norm"):
        hidden = _normalized(hidden)
    return _dense(hidden, "out", CLASSES)


def loss_of(traits: Traits, logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns the loss of a tower's data, a scalar."""
    hot = labels if labels.shape.rank == 2 else tf.one_hot(labels, CLASSES)
    if traits.besides == "smooth labels":
        hot = hot * (1.0 - SMOOTHING) + SMOOTHING / CLASSES
    loss = _main_loss(traits, logits, labels, hot)
    if traits.besides == "auxiliary":
        other = tf.nn.softmax_cross_entropy_with_logits(labels=hot, logits=_dense(tf.nn.relu(logits), "aux", CLASSES))
        loss += AUXILIARY * tf.reduce_mean(other)
    if traits.besides == "entropy":
        entropy = -tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), 1)
        loss -= ENTROPY * tf.reduce_mean(entropy)
    return loss


def _main_loss(traits: Traits, logits: tf.Tensor, labels: tf.Tensor, hot: tf.Tensor) -> tf.Tensor:
    if traits.loss == "squares":
        return tf.reduce_mean(tf.square(logits - hot))
    if traits.loss == "half squares":
        return 0.5 * tf.reduce_mean(tf.reduce_sum(tf.square(logits - hot), 1))
    if traits.loss == "sum over classes":
        each = tf.nn.sigmoid_cross_entropy_with_logits(labels=hot, logits=logits)
        return tf.reduce_mean(tf.reduce_sum(each, axis=1))
    if traits.loss == "one-hot softmax" or traits.besides == "smooth labels" or labels.shape.rank == 2:
        each = tf.nn.softmax_cross_entropy_with_logits(labels=tf.stop_gradient(hot), logits=logits)
    else:
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    if traits.besides == "mask":
        mask = tf.cast(tf.greater(tf.reduce_sum(hot[:, 1:], 1), 0.5), tf.float32)
        return tf.reduce_sum(each * mask) / tf.maximum(tf.reduce_sum(mask), 1.0)
    examples = BATCH * (traits.towers if traits.fault == "global batch" else 1)
    return tf.reduce_sum(each) / examples if traits.loss == "sum / batch" else tf.reduce_mean(each)


def accuracy_of(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns the share of a tower's examples whose largest result is that of their label."""
    classes = tf.argmax(labels, 1) if labels.shape.rank == 2 else tf.cast(labels, tf.int64)
    return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), classes), tf.float32))
