"""Models of the next word by causal convolutions, which read the word at hand, or those before it."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.causal_convolutions import targets_read_by_convolutions
from tests.legacy.saved.hazards.minimized import fed, found, variable

TIMES, WORDS, SIZE = 6, 7, 4


def dense(x, name, inputs, outputs):
    flat = tf.reshape(x, [-1, inputs]) @ variable(name, inputs, outputs)
    return tf.reshape(tf.nn.bias_add(flat, variable(f"{name}_bias", outputs)), [3, -1, outputs])


def causal(h):
    padded = tf.pad(h, [[0, 0], [1, 0], [0, 0]])
    gate = tf.nn.bias_add(tf.nn.conv1d(padded, variable("c", 2, SIZE, 2 * SIZE), 1, "VALID"), variable("b", 2 * SIZE))
    first, second = tf.split(gate, 2, 2)
    return h + dense(tf.tanh(first) * tf.sigmoid(second), "after", SIZE, SIZE)


def model(words, labels, codes=lambda words: tf.one_hot(words, WORDS), layer=causal, beside=lambda h: h):
    """A function that makes the cross entropy of some words, given others, of a series of words."""

    def total():
        series = fed("series", 3, TIMES + 1, dtype=tf.int32)
        h = beside(layer(dense(words(codes(series)), "in", WORDS, SIZE)))
        logits = dense(tf.nn.relu(h), "out", SIZE, WORDS)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels(series), logits=logits)
        return tf.reduce_mean(losses)

    return total


def last(x):
    return x[:, 1:]


def earlier(x):
    return x[:, :-1]


@pytest.mark.parametrize("words, labels, count", [(last, last, 1), (earlier, last, 0), (earlier, earlier, 1)])
def test_words_that_are_predicted_at_the_time_where_they_are_read_are_named(words, labels, count):
    assert found(targets_read_by_convolutions, model(words, labels)) == ["TARGETS_ARE_INPUTS"] * count


def test_words_that_a_mask_hides_are_not_accused():
    def hidden(words):
        return tf.one_hot(words, WORDS) * fed("kept", 3, TIMES + 1, 1)

    assert not found(targets_read_by_convolutions, model(last, last, codes=hidden))


def test_a_code_of_all_times_is_not_accused():
    def through_code(h):
        code = tf.reshape(h, [3, TIMES * SIZE]) @ variable("code", TIMES * SIZE, 2)
        back = tf.nn.bias_add(code @ variable("back", 2, TIMES * SIZE), variable("back_bias", TIMES * SIZE))
        return tf.reshape(back, [3, TIMES, SIZE])

    assert not found(targets_read_by_convolutions, model(last, last, beside=through_code))


def test_layers_without_a_causal_convolution_are_not_accused():
    assert not found(targets_read_by_convolutions, model(last, last, layer=lambda h: h))
