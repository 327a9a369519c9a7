"""Losses of random programs."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from tests.legacy.random_programs.inputs import BATCH, CLASSES
from tests.legacy.random_programs.models import MODELS, dense
from tests.legacy.random_programs.traits import Traits

v1 = tf.compat.v1
#: Share of the labels that smoothing takes; weights of terms besides.
SMOOTHING, AUXILIARY, ENTROPY, DIVERGENCE, ACTIVITY = 0.1, 0.3, 0.01, 0.02, 0.001


def logits_of(traits: Traits, x: tf.Tensor) -> tf.Tensor:
    """Returns a tower's results, [batch, classes]."""
    if traits.prepared == "noise of each" and traits.model != "embedding":
        x += v1.random_normal(tf.shape(x), stddev=0.1)
    logits = MODELS[traits.model].layers(x)
    faults: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
        "rectified logits": tf.nn.relu,
        "softmax twice": tf.nn.softmax,
    }
    return faults.get(traits.fault, lambda x: x)(logits)


def loss_of(traits: Traits, logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns the loss of a tower's data, a scalar."""
    hot = labels if labels.shape.rank == 2 else tf.one_hot(labels, CLASSES)
    if traits.besides == "smooth labels":
        hot = hot * (1.0 - SMOOTHING) + SMOOTHING / CLASSES
    loss = _main_loss(traits, logits, labels, hot)
    if traits.besides == "auxiliary":
        other = tf.nn.softmax_cross_entropy_with_logits(labels=hot, logits=dense(tf.nn.relu(logits), "aux", CLASSES))
        loss += AUXILIARY * tf.reduce_mean(other)
    if traits.besides == "entropy":
        entropy = -tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), 1)
        loss -= ENTROPY * tf.reduce_mean(entropy)
    if traits.besides == "divergence":
        mean, log_variance = dense(logits, "mean", 4), dense(logits, "log_variance", 4)
        each = 1.0 + log_variance - tf.square(mean) - tf.exp(log_variance)
        loss += DIVERGENCE * tf.reduce_mean(-0.5 * tf.reduce_sum(each, 1))
    if traits.besides == "activity":
        loss += ACTIVITY * tf.reduce_mean(tf.abs(logits))
    return loss


def _main_loss(traits: Traits, logits: tf.Tensor, labels: tf.Tensor, hot: tf.Tensor) -> tf.Tensor:
    if traits.loss in MEANS:
        return tf.reduce_mean(MEANS[traits.loss](logits, hot))
    if traits.loss == "half squares":
        return 0.5 * tf.reduce_mean(tf.reduce_sum(tf.square(logits - hot), 1))
    if traits.loss == "one-hot softmax" or traits.besides == "smooth labels" or labels.shape.rank == 2:
        each = tf.nn.softmax_cross_entropy_with_logits(labels=tf.stop_gradient(hot), logits=logits)
    else:
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    if traits.besides == "mask":
        mask = tf.cast(tf.greater(tf.reduce_sum(hot[:, 1:], 1), 0.5), tf.float32)
        return tf.reduce_sum(each * mask) / tf.maximum(tf.reduce_sum(mask), 1.0)
    if traits.besides == "class weights":
        return tf.reduce_mean(each * tf.gather([0.5, 1.0, 2.0], tf.argmax(hot, 1)))
    examples = BATCH * (traits.towers if traits.fault == "global batch" else 1)
    return tf.reduce_sum(each) / examples if traits.loss == "sum / batch" else tf.reduce_mean(each)


def _huber(logits: tf.Tensor, hot: tf.Tensor) -> tf.Tensor:
    distance = tf.abs(logits - hot)
    return tf.where(distance < 0.5, 0.5 * tf.square(distance), 0.5 * (distance - 0.25))


def _logarithms(logits: tf.Tensor, hot: tf.Tensor) -> tf.Tensor:
    shares = tf.clip_by_value(tf.nn.softmax(logits), 1e-10, 1.0)
    return -tf.reduce_sum(hot * tf.math.log(shares), 1)


def _focal(logits: tf.Tensor, hot: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_sum(hot * tf.square(1.0 - tf.nn.softmax(logits)) * tf.nn.log_softmax(logits), 1)


def _sigmoids(logits: tf.Tensor, hot: tf.Tensor) -> tf.Tensor:
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=hot, logits=logits)


#: {loss: what its mean is taken of, from logits and one-hot labels}.
MEANS: dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    "squares": lambda logits, hot: tf.square(logits - hot),
    "absolute": lambda logits, hot: tf.abs(logits - hot),
    "huber": _huber,
    "hinge": lambda logits, hot: tf.nn.relu(1.0 - (2.0 * hot - 1.0) * logits),
    "logarithms": _logarithms,
    "focal": _focal,
    "sigmoids": _sigmoids,
    "sum over classes": lambda logits, hot: tf.reduce_sum(_sigmoids(logits, hot), 1),
}


def accuracy_of(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns the share of a tower's examples whose largest result is that of their label."""
    classes = tf.argmax(labels, 1) if labels.shape.rank == 2 else tf.cast(labels, tf.int64)
    return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), classes), tf.float32))
