"""The nearest of all examples: itself, or another one."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.signs.nearest_pairs import nearest_is_itself
from tests.legacy.saved.hazards.minimized import fed, found, variable


@pytest.mark.parametrize(
    "nearest, count",
    [
        (lambda d, same: tf.reduce_min(d, 1), 1),
        (lambda d, same: tf.reduce_min(tf.sqrt(d + 1e-12), 0), 1),
        (lambda d, same: tf.reduce_min(d + 1e5 * same, 1), 0),
        (lambda d, same: tf.reduce_min(tf.where(same > 0.0, 1e5 * tf.ones_like(d), d), 1), 0),
        (lambda d, same: tf.reduce_max(d * same, 1), 0),
        (lambda d, same: tf.reduce_min(d), 0),  # not of each example
    ],
)
@pytest.mark.parametrize("is_one", [True, False])
def test_the_smallest_distance_without_a_mask_is_named(nearest, count, is_one):
    def loss():
        w, labels = variable("w", 4, 3), fed("labels", 8, dtype=tf.int32)
        x = fed("x", 8, 4) @ w
        other = x if is_one else fed("y", 8, 4) @ w
        d = tf.reduce_sum(tf.square(x[:, tf.newaxis] - other[tf.newaxis]), 2)
        same = tf.cast(tf.equal(labels[:, tf.newaxis], labels[tf.newaxis]), tf.float32)
        return tf.reduce_mean(tf.nn.softplus(tf.reduce_max(d * same, 1) - nearest(d, same)))

    assert found(nearest_is_itself, loss) == ["NEAREST_IS_ITSELF"] * (count * is_one)


@pytest.mark.parametrize("masked, is_one, count", [(False, True, 1), (True, True, 0), (False, False, 0)])
def test_so_is_that_of_norms_and_products(masked, is_one, count):
    def loss():
        w, labels = variable("w", 4, 3), fed("labels", 8, dtype=tf.int32)
        x = fed("x", 8, 4) @ w
        products = tf.matmul(x, x if is_one else fed("y", 8, 4) @ w, transpose_b=True)
        squares = tf.linalg.diag_part(products)
        d = tf.sqrt(tf.maximum(squares[:, tf.newaxis] - 2.0 * products + squares[tf.newaxis], 0.0) + 1e-12)
        if masked:
            same = tf.equal(labels[:, tf.newaxis], labels[tf.newaxis])
            d = tf.where(same, 1e5 * tf.ones_like(d), d)
        return -tf.reduce_mean(tf.reduce_min(d, 1))

    assert found(nearest_is_itself, loss) == ["NEAREST_IS_ITSELF"] * count
