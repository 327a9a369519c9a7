"""Softmax over examples whose shares are added up over words or classes, beside those added up as they should be."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.shares_along_other_axes import (
    classes_along_other_axes,
    shares_added_up_along_other_axes,
)
from tests.legacy.saved.hazards.minimized import fed, found_by_analysis, variable


def softmax(scores, axis):
    """The softmax along an axis, as 1.x computes it."""
    if axis in (-1, len(scores.shape) - 1):
        return tf.nn.softmax(scores)
    turn = list(range(len(scores.shape)))
    turn[axis], turn[-1] = turn[-1], turn[axis]
    return tf.transpose(tf.nn.softmax(tf.transpose(scores, turn)), turn)


@pytest.mark.parametrize("rows", [None, 8])
@pytest.mark.parametrize("softmax_axis, sum_axis, count", [(0, 1, 1), (1, 1, 0), (0, 0, 0), (0, 2, 0), (0, [0, 1], 0)])
def test_attention_whose_shares_are_of_the_examples_is_named(softmax_axis, sum_axis, count, rows):
    """A sum along the features, for each of which the shares are the same, is of none of them."""

    def loss():
        words = fed("x", rows, 5, 4)
        shares = softmax(tf.tensordot(words, variable("w", 4, 1), 1), softmax_axis)
        return tf.reduce_mean(tf.square(tf.reduce_sum(shares * words, sum_axis)))

    assert found_by_analysis(shares_added_up_along_other_axes, loss) == ["SOFTMAX_OVER_EXAMPLES"] * count


@pytest.mark.parametrize("columns", [5, None])
@pytest.mark.parametrize("axis", [0, 1])
def test_so_are_the_logarithms_of_shares_that_labels_multiply(axis, columns):
    """A matrix of which both sizes are open may compare examples with each other."""

    def loss():
        scores = tf.tensordot(fed("x", None, columns, 4), variable("w", 4, 1), 1)[..., 0]
        logarithms = tf.math.log(softmax(scores, axis) + 1e-10)
        return -tf.reduce_mean(tf.reduce_sum(fed("labels", None, columns) * logarithms, 1))

    count = int(axis == 0 and columns is not None)
    assert found_by_analysis(shares_added_up_along_other_axes, loss) == ["SOFTMAX_OVER_EXAMPLES"] * count


@pytest.mark.parametrize("sentences, count", [(16, 1), (12, 0)])
def test_the_first_axis_may_be_that_of_the_sentences_of_all_examples(sentences, count):
    """Of another number of rows it is not known what they are."""

    def loss():
        words = tf.reshape(fed("x", 8, 3840 // 8), [sentences, -1, 4])
        shares = softmax(tf.tensordot(words, variable("w", 4, 1), 1), 0)
        sums = tf.reduce_sum(shares * words, 1)
        return tf.reduce_mean(tf.square(sums)) + tf.reduce_mean(fed("y", 8))

    assert found_by_analysis(shares_added_up_along_other_axes, loss) == ["SOFTMAX_OVER_EXAMPLES"] * count


@pytest.mark.parametrize(
    "logarithm, count",
    [
        (lambda scores: tf.math.log(softmax(scores, 1) + 1e-9), 1),
        (lambda scores: tf.math.log(softmax(scores, 2) + 1e-9), 0),
        (lambda scores: tf.transpose(tf.nn.log_softmax(tf.transpose(scores, [0, 2, 1])), [0, 2, 1]), 1),
        (lambda scores: tf.nn.log_softmax(scores), 0),
        (lambda scores: tf.transpose(tf.nn.log_softmax(scores), [0, 2, 1]), 0),  # what the code's axis is: not read
        (lambda scores: tf.reshape(tf.nn.log_softmax(tf.reshape(scores, [8, 15])), [8, 5, 3]), 0),
    ],
)
def test_a_softmax_along_another_axis_than_the_classes_is_named(logarithm, count):
    def loss():
        logarithms = logarithm(tf.tensordot(fed("x", 8, 5, 4), variable("w", 4, 3), 1))
        axis = 1 if logarithms.shape[1] == 3 else -1
        labels = tf.one_hot(fed("labels", 8, 5, dtype=tf.int32), 3, axis=axis)
        return -tf.reduce_mean(tf.reduce_sum(labels * logarithms, [1, 2]))

    assert found_by_analysis(classes_along_other_axes, loss) == ["SOFTMAX_OVER_POSITIONS"] * count
