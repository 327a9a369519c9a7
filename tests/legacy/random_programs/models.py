"""The layers of random programs, and their variables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from tests.legacy.random_programs.inputs import CLASSES

v1 = tf.compat.v1
#: Words of the vocabulary; share of a layer's numbers that dropout keeps.
WORDS, KEPT = 20, 0.7


def sharing(scope: str) -> Any:
    """Returns the context of a tower's variables: those of the scope "" are all towers'."""
    return v1.variable_scope(scope or v1.get_variable_scope(), reuse=v1.AUTO_REUSE, auxiliary_name_scope=False)


def weight(name: str, *shape: int) -> tf.Variable:
    """A variable by reference, as of 1.x."""
    with sharing(""):
        return v1.get_variable(name, shape, initializer=v1.random_normal_initializer(0, 0.1), use_resource=False)


def dense(x: tf.Tensor, name: str, units: int) -> tf.Tensor:
    """A layer of all inputs, [batch, units]."""
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


def _hidden(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu(dense(x, "hidden", 8))


def _times(x: tf.Tensor) -> tf.Tensor:
    """A sequence of three times, [batch, 3, 4]."""
    return tf.reshape(x, [-1, 3, 4])


def _convolution(x: tf.Tensor) -> tf.Tensor:
    image = tf.reshape(x, [-1, 4, 3, 1])
    filtered = tf.nn.conv2d(image, weight("conv/kernel", 3, 3, 1, 4), [1, 1, 1, 1], "SAME")
    pooled = tf.nn.max_pool2d(tf.nn.relu(tf.nn.bias_add(filtered, weight("conv/bias", 4))), 2, 2, "SAME")
    return dense(tf.reshape(pooled, [-1, 2 * 2 * 4]), "out", CLASSES)


def _embedding(x: tf.Tensor) -> tf.Tensor:
    rows = tf.nn.embedding_lookup(weight("table", WORDS, 6), x)
    return dense(tf.tanh(tf.reduce_mean(rows, 1)), "out", CLASSES)


def _recurrent(x: tf.Tensor) -> tf.Tensor:
    state = tf.zeros_like(x[:, :4])
    for time in range(3):
        state = tf.tanh(dense(tf.concat([x[:, 4 * time : 4 * time + 4], state], 1), "cell", 4))
    return dense(state, "out", CLASSES)


def _lstm(x: tf.Tensor) -> tf.Tensor:
    state = cell = tf.zeros_like(x[:, :4])
    for time in range(3):
        gates = dense(tf.concat([x[:, 4 * time : 4 * time + 4], state], 1), "lstm", 16)
        enter, new, forget, leave = tf.split(gates, 4, axis=1)
        cell = cell * tf.sigmoid(forget + 1.0) + tf.sigmoid(enter) * tf.tanh(new)
        state = tf.tanh(cell) * tf.sigmoid(leave)
    return dense(state, "out", CLASSES)


def _loop(x: tf.Tensor) -> tf.Tensor:
    """The recurrent layer, by a while loop."""
    steps = tf.transpose(_times(x), [1, 0, 2])
    kernel, bias = weight("cell/kernel", 8, 4), weight("cell/bias", 4)

    def advance(time: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        both = tf.concat([tf.gather(steps, time), state], 1)
        return time + 1, tf.tanh(tf.nn.bias_add(tf.matmul(both, kernel), bias))

    _, state = v1.while_loop(lambda time, _: time < 3, advance, (tf.constant(0), tf.zeros_like(steps[0])))
    return dense(state, "out", CLASSES)


def _attention(x: tf.Tensor) -> tf.Tensor:
    times = _times(x)
    queries, keys, values = (
        tf.reshape(dense(tf.reshape(times, [-1, 4]), name, 4), [-1, 3, 4]) for name in ("query", "key", "value")
    )
    shares = tf.nn.softmax(tf.matmul(queries, keys, transpose_b=True) / math.sqrt(4))
    return dense(tf.reduce_mean(tf.matmul(shares, values), 1), "out", CLASSES)


def _residual(x: tf.Tensor) -> tf.Tensor:
    hidden = _hidden(x)
    return dense(tf.nn.relu(hidden + dense(hidden, "block", 8)), "out", CLASSES)


def _layer_norm(x: tf.Tensor) -> tf.Tensor:
    hidden = dense(x, "hidden", 8)
    mean, variance = tf.nn.moments(hidden, [1], keepdims=True)
    normal = (hidden - mean) * tf.math.rsqrt(variance + 1e-6) * weight("norm/gamma", 8) + weight("norm/beta", 8)
    return dense(tf.nn.relu(normal), "out", CLASSES)


def _highway(x: tf.Tensor) -> tf.Tensor:
    hidden = _hidden(x)
    gate = tf.sigmoid(dense(hidden, "gate", 8) - 1.0)
    return dense(gate * tf.tanh(dense(hidden, "carry", 8)) + (1.0 - gate) * hidden, "out", CLASSES)


def _maxout(x: tf.Tensor) -> tf.Tensor:
    return dense(tf.reduce_max(tf.reshape(dense(x, "pieces", 12), [-1, 6, 2]), 2), "out", CLASSES)


def _factorization(x: tf.Tensor) -> tf.Tensor:
    """Half of the square of a sum less the sum of squares, as a factorization machine has it, beside a linear layer."""
    factors = tf.expand_dims(x, 2) * tf.expand_dims(weight("factors", 12, CLASSES), 0)
    pairs = 0.5 * (tf.square(tf.reduce_sum(factors, 1)) - tf.reduce_sum(tf.square(factors), 1))
    return dense(x, "out", CLASSES) + pairs


def _dropout(x: tf.Tensor) -> tf.Tensor:
    return dense(v1.nn.dropout(_hidden(x), keep_prob=KEPT), "out", CLASSES)


def _dropout_by_hand(x: tf.Tensor) -> tf.Tensor:
    hidden = _hidden(x)
    kept = tf.floor(KEPT + v1.random_uniform(tf.shape(hidden)))
    return dense(hidden / KEPT * kept, "out", CLASSES)


class Model(NamedTuple):
    """Layers.

    Attributes:
      layers: makes the results, [batch, classes], of examples, [batch, width].
      trained: the number of trained variables.
    """

    layers: Callable[[tf.Tensor], tf.Tensor]
    trained: int = 4


MODELS = {
    "dense": Model(lambda x: dense(_hidden(x), "out", CLASSES)),
    "convolution": Model(_convolution),
    "embedding": Model(_embedding, trained=3),
    "recurrent": Model(_recurrent),
    "lstm": Model(_lstm),
    "loop": Model(_loop),
    "attention": Model(_attention, trained=8),
    "residual": Model(_residual, trained=6),
    "layer norm": Model(_layer_norm, trained=6),
    "highway": Model(_highway, trained=8),
    "maxout": Model(_maxout),
    "factorization": Model(_factorization, trained=3),
    "dropout": Model(_dropout),
    "dropout by hand": Model(_dropout_by_hand),
    "batch norm of each": Model(lambda x: dense(_normalized(_hidden(x)), "out", CLASSES), trained=6),
    "batch norm of first": Model(lambda x: dense(_normalized(_hidden(x)), "out", CLASSES), trained=6),
}
