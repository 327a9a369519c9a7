"""Contrastive losses over two joined views whose labels name the other view's row, or another."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.partners import partners_in_other_rows
from tests.legacy.saved.hazards.minimized import fed, found_by_analysis, variable

v1 = tf.compat.v1
EXAMPLES = 4


def contrasted(labels, views=2):
    """The hazards of a softmax over all rows of two views of a batch."""

    def total():
        x, w = fed("x", EXAMPLES, 4), variable("w", 4, 3)
        rows = tf.concat([x + v1.random_normal([EXAMPLES, 4]) for _ in range(views)], 0)
        z = tf.nn.l2_normalize(rows @ w, 1)
        scores = tf.matmul(z, z, transpose_b=True) / 0.5 - 1e9 * tf.eye(views * EXAMPLES)
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels(), logits=scores))

    return found_by_analysis(partners_in_other_rows, total)


@pytest.mark.parametrize(
    "labels, count",
    [
        (lambda: tf.range(8), 1),
        (lambda: tf.constant([1, 0, 3, 2, 5, 4, 7, 6]), 1),
        (lambda: tf.concat([tf.range(4, 8), tf.range(0, 4)], 0), 0),
        (lambda: fed("labels", 8, dtype=tf.int32), 0),
    ],
)
def test_partners_in_other_rows_are_named(labels, count):
    assert contrasted(labels) == ["PARTNER_IN_ANOTHER_ROW"] * count


def test_rows_that_are_not_two_views_may_have_any_partner():
    """A batch has the two views of each example one after the other."""

    def total():
        z = tf.nn.l2_normalize(fed("x", 8, 4) @ variable("w", 4, 3), 1)
        scores = tf.matmul(z, z, transpose_b=True) / 0.5 - 1e9 * tf.eye(8)
        labels = tf.constant([1, 0, 3, 2, 5, 4, 7, 6])
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))

    assert found_by_analysis(partners_in_other_rows, total) == []


def test_labels_of_a_dataset_have_no_constant():
    def total():
        words = tf.data.Dataset.from_tensors((tf.zeros([8, 4]), tf.zeros([8], tf.int32)))
        x, labels = v1.data.make_one_shot_iterator(words).get_next()
        z = tf.nn.l2_normalize(tf.concat([x, x], 0) @ variable("w", 4, 3), 1)[:8]
        scores = tf.matmul(z, z, transpose_b=True)
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))

    assert found_by_analysis(partners_in_other_rows, total) == []
