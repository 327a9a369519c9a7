"""Contrastive losses with one temperature, and with that of one side."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries.contrasts import (
    partners_of_one_example,
    scales_of_joined_parts,
    scales_of_one_side,
)
from tests.legacy.saved.hazards.minimized import fed, found, found_by_analysis, variable

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "pair, pairs, count",
    [(10.0, 1.0, 1), (1.0, 10.0, 1), (10.0, 10.0, 0), (1.0, 1.0, 0)],
)
def test_a_temperature_of_own_pairs_alone_is_named(pair, pairs, count):
    def total():
        z, u = (tf.nn.l2_normalize(fed(name, 8, 4) @ variable("w" + name, 4, 3), 1) for name in "ab")
        own = pair * tf.reduce_sum(z * u, 1)
        others = pairs * tf.matmul(z, u, transpose_b=True) - 1e9 * tf.eye(8)
        return tf.reduce_mean(tf.reduce_logsumexp(others, 1) - own)

    assert found(scales_of_one_side, total) == ["TEMPERATURE_OF_ONE_SIDE"] * count


@pytest.mark.parametrize(
    "other, own, masked, count",
    [(1.0, 10.0, True, 1), (10.0, 1.0, False, 1), (10.0, 10.0, True, 0), (1.0, 1.0, False, 0)],
)
def test_so_is_one_of_joined_parts(other, own, masked, count):
    def total():
        z, u = (tf.nn.l2_normalize(fed(name, 8, 4) @ variable("w" + name, 4, 3), 1) for name in "ab")
        parts = [other * tf.matmul(z, u, transpose_b=True), own * tf.matmul(z, z, transpose_b=True)]
        logits = tf.concat([parts[0], parts[1] - 1e9 * tf.eye(8) if masked else parts[1]], 1)
        labels = tf.one_hot(tf.range(8), 16)
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    assert found(scales_of_joined_parts, total) == ["TEMPERATURE_OF_ONE_SIDE"] * count


def test_logits_of_classes_that_are_joined_are_not():
    def total():
        z = fed("x", 8, 4) @ variable("w", 4, 3)
        logits = tf.concat([z @ variable("many", 3, 5), 2.0 * z @ variable("few", 3, 2)], 1)
        labels = tf.one_hot(fed("labels", 8, dtype=tf.int32), 7)
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    assert found(scales_of_joined_parts, total) == []


def test_a_scale_that_is_trained_is_not():
    def total():
        z, u = (fed(name, 8, 4) @ variable("w" + name, 4, 3) for name in "ab")
        scale = tf.exp(variable("scale"))
        own = scale * tf.reduce_sum(z * u, 1)
        return tf.reduce_mean(tf.reduce_logsumexp(scale * tf.matmul(z, u, transpose_b=True), 1) - own)

    assert found(scales_of_one_side, total) == []


@pytest.mark.parametrize(
    "labels, negatives, count",
    [
        (np.zeros([8], np.int32), 0, 1),
        (np.arange(8), 0, 0),
        (np.zeros([8], np.int32), 5, 0),  # the own pair comes first, and then those of a queue
    ],
    ids=["zeros", "range", "queue"],
)
def test_one_partner_of_all_examples_is_named(labels, negatives, count):
    def total():
        z, u = (fed(name, 8, 4) @ variable("w" + name, 4, 3) for name in "ab")
        logits = tf.matmul(z, u, transpose_b=True) / 0.5
        if negatives:
            kept = tf.matmul(z, v1.get_variable("queue", [negatives, 3], trainable=False), transpose_b=True)
            logits = tf.concat([tf.reduce_sum(z * u, 1, keepdims=True), kept], 1) / 0.5
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    assert found_by_analysis(partners_of_one_example, total) == ["PARTNER_OF_ONE_EXAMPLE"] * count


@pytest.mark.parametrize("of_pair, of_memory, count", [(1.0, 4.0, 1), (4.0, 1.0, 1), (4.0, 4.0, 0)])
def test_own_pairs_beside_a_memory_have_its_scale(of_pair, of_memory, count):
    """As of momentum contrast: keys and memory are results that nothing trains."""

    def total():
        x, w = fed("x", 8, 4), variable("w", 4, 3)
        memory = v1.get_variable("memory", [6, 3], trainable=False, use_resource=False)
        queries, keys = x @ w, tf.stop_gradient(fed("keys", 8, 3))
        own = tf.reduce_sum(queries * keys, 1, keepdims=True) * of_pair
        logits = tf.concat([own, tf.matmul(queries, memory, transpose_b=True) * of_memory], 1)
        labels = tf.zeros([8], tf.int32)
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    assert found(scales_of_joined_parts, total) == ["TEMPERATURE_OF_ONE_SIDE"] * count


def test_classes_of_several_layers_may_have_other_scales():
    def total():
        x = fed("x", 8, 4)
        logits = tf.concat([x @ variable("a", 4, 3), 0.5 * (x @ variable("b", 4, 2))], 1)
        labels = fed("labels", 8, dtype=tf.int32)
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    assert found(scales_of_joined_parts, total) == []
