"""Terms of labels y and 1 - y that push distances both ways, or one way."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.signs.opposed_labels import distances_pushed_one_way
from tests.legacy.saved.hazards.minimized import fed, found, variable


def contrastive(loss, against_data=False):
    def total():
        w = variable("w", 4, 3)
        other = fed("given", 8, 3) if against_data else fed("b", 8, 4) @ w
        distance = tf.reduce_sum(tf.square(fed("a", 8, 4) @ w - other), 1)
        return tf.reduce_mean(loss(distance, fed("same", 8)))

    return found(distances_pushed_one_way, total)


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda d, y: y * d + (1.0 - y) * tf.square(tf.maximum(tf.sqrt(d + 1e-6) - 1.0, 0.0)), 1),
        (lambda d, y: y * d - (1.0 - y) * tf.square(tf.maximum(1.0 - tf.sqrt(d + 1e-6), 0.0)), 1),
        (lambda d, y: y * d + (1.0 - y) * tf.square(tf.maximum(1.0 - tf.sqrt(d + 1e-6), 0.0)), 0),
        (lambda d, y: y * d + (1.0 - y) * tf.exp(-d), 0),
        (lambda d, y: y * d, 0),
    ],
)
def test_a_margin_with_its_terms_exchanged_is_named(loss, count):
    assert contrastive(loss) == ["PUSHED_ONE_WAY"] * count


def test_errors_of_two_weights_are_not():
    assert contrastive(lambda d, y: 2.0 * y * d + 0.5 * (1.0 - y) * d, against_data=True) == []


@pytest.mark.parametrize("present, count", [(lambda n: n - 0.9, 1), (lambda n: 0.9 - n, 0)])
def test_capsules_whose_norms_only_fall_are_named(present, count):
    def total():
        norms = tf.sqrt(tf.reduce_sum(tf.square(tf.reshape(fed("x", 8, 4) @ variable("w", 4, 6), [8, 3, 2])), 2) + 1e-9)
        labels = tf.one_hot(fed("y", 8, dtype=tf.int32), 3)
        here = labels * tf.square(tf.maximum(present(norms), 0.0))
        return tf.reduce_mean(here + 0.5 * (1.0 - labels) * tf.square(tf.maximum(norms - 0.1, 0.0)))

    assert found(distances_pushed_one_way, total) == ["PUSHED_ONE_WAY"] * count
