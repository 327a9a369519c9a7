"""Products of looked-up rows: all pushed one way, or some the other way."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.signs.lookups import products_pushed_one_way
from tests.legacy.saved.hazards.minimized import fed, found, variable


def log_sigmoid(x):
    return tf.reduce_mean(-tf.nn.softplus(-x))


def test_products_with_all_rows_are_negative_samples():
    def total():
        rows, others = variable("rows", 9, 4), variable("others", 9, 4)
        word, near = (tf.gather(one, fed(n, 8, dtype=tf.int32)) for one, n in ((rows, "word"), (others, "near")))
        all_rows = tf.reduce_logsumexp(tf.matmul(word, others, transpose_b=True), 1)
        return tf.reduce_mean(all_rows - tf.reduce_sum(word * near, 1))

    assert found(products_pushed_one_way, total) == []


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda near, far: -log_sigmoid(near) - log_sigmoid(far), 1),
        (lambda near, far: -log_sigmoid(near), 1),
        (lambda near, far: -log_sigmoid(near) - log_sigmoid(-far), 0),
        (lambda near, far: tf.reduce_mean(tf.nn.softplus(far - near)), 0),
        (lambda near, far: tf.reduce_mean(tf.square(near - fed("counts", 8))), 0),
    ],
)
def test_negative_samples_with_the_wrong_sign_are_named(loss, count):
    def total():
        rows, others = variable("rows", 9, 4), variable("others", 9, 4)
        words = [fed(name, 8, dtype=tf.int32) for name in ("word", "near", "far")]
        word, near, far = (tf.gather(table, ids) for table, ids in zip((rows, others, others), words))
        penalty = 1e-4 * tf.reduce_sum(tf.square(word))
        return loss(tf.reduce_sum(word * near, 1), tf.reduce_sum(word * far, 1)) + penalty

    assert found(products_pushed_one_way, total) == ["PUSHED_ONE_WAY"] * count
