"""Sizes of texts that pools of constant windows need; twins whose sizes are fixed, or whose windows are padded."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.data_trial.window_sizes import of_one_size
from tests.legacy.saved.data_trial.fitted import fitted, inputs_of
from workloads.lifted.plan import Input

v1 = tf.compat.v1


def text_cnn(w, lengths, pool="MaxPool", padding="VALID"):
    """A loss of windows of 3 and 4 words, each with a pool over as many positions as 9 words have."""
    words = v1.placeholder(tf.int32, [None, None] if lengths == "open" else [None, 9], "words")
    labels = v1.placeholder(tf.int32, [None], "labels")
    x = tf.gather(w, tf.minimum(words, 2))[..., tf.newaxis]  # [batch, words, 2, 1]
    pooled = []
    for width in (3, 4):
        kernel = tf.constant(np.linspace(-1, 1, width * 2 * 3), tf.float32, [width, 2, 1, 3])
        positions = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, padding))
        make = v1.nn.max_pool if pool == "MaxPool" else v1.nn.avg_pool
        pooled.append(make(positions, [1, 10 - width, 1, 1], [1, 1, 1, 1], padding))
    features = tf.reshape(tf.concat(pooled, 3), [-1, 6]) if padding == "VALID" else tf.reduce_mean(pooled[0], [1, 2])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=features))


@pytest.mark.parametrize("pool", ["MaxPool", "AvgPool"])
def test_texts_are_as_long_as_pools_of_constant_windows_need(pool):
    plan = fitted(lambda w: text_cnn(w, "open", pool))
    assert inputs_of(plan)["words"][0] == [None, 9] and plan.batch is None


@pytest.mark.parametrize("lengths, padding", [("fixed", "VALID"), ("open", "SAME")])
def test_texts_of_a_fixed_length_or_windows_with_padding_stay_as_they_are(lengths, padding):
    assert inputs_of(fitted(lambda w: text_cnn(w, lengths, padding=padding)))["words"][0] == []


def test_a_size_is_that_of_open_dimensions_but_the_examples():
    words, labels, fixed = (
        Input(name, "int32", shape, "batch", 0, [name + ":0"], name + ":0")
        for name, shape in (("words", [None, None]), ("labels", [None]), ("fixed", [None, 4]))
    )
    found = of_one_size([words, labels, fixed], 9)
    assert [entry.example for entry in found] == [[None, 9], [], []]
