"""Signs of values: what is never below 0 whatever the data are."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.signs.value_signs import ValueSigns, is_probability
from tests.legacy.saved.hazards.minimized import fed, minimizing, variable


def sign(values):
    """The sign of `values` of a layer's result, and whether it is a probability."""

    def loss():
        w, y = variable("w", 4, 3), fed("y", 8, 3)
        values_of = tf.identity(values(fed("x", 8, 4) @ w, y), name="values")
        return tf.reduce_mean(values_of) + tf.reduce_mean(y * w[0] + (1.0 - fed("share", 8, 3)) * w[1])

    whole = WholeGraph(minimizing(loss))
    return ValueSigns(whole).of("values"), is_probability(whole, "values")


@pytest.mark.parametrize(
    "values, expected",
    [
        (lambda h, y: tf.exp(h), (1, False)),
        (lambda h, y: -tf.square(h), (-1, False)),
        (lambda h, y: h * h, (1, False)),
        (lambda h, y: h, (0, False)),
        (lambda h, y: y, (0, False)),  # 1 - y is nowhere: it may be below 0
        (lambda h, y: tf.sigmoid(h), (1, True)),
        (lambda h, y: 1.0 - tf.sigmoid(h), (1, False)),
        (lambda h, y: 1.0 - tf.exp(h), (0, False)),
        (lambda h, y: 1.0 - tf.maximum(tf.sigmoid(h), 0.1), (1, False)),
        (lambda h, y: (1.0 - y) ** 4 * tf.exp(h), (1, False)),
        (lambda h, y: (1.0 - y) ** 3 * tf.exp(h), (0, False)),
        (lambda h, y: tf.where(y > 0.0, tf.exp(h), 0.5 * tf.ones_like(h)), (1, False)),
        (lambda h, y: tf.where(y > 0.0, tf.exp(h), h), (0, False)),
        (lambda h, y: tf.concat([tf.exp(h), tf.square(y)], 1), (1, False)),
        (lambda h, y: tf.raw_ops.Concat(concat_dim=1, values=[tf.exp(h), tf.square(y)]), (1, False)),
        (lambda h, y: tf.raw_ops.Concat(concat_dim=1, values=[tf.exp(h), h]), (0, False)),
        (lambda h, y: tf.maximum(h, 0.1), (1, False)),
        (lambda h, y: tf.maximum(h, -0.1), (0, False)),
        (lambda h, y: tf.exp(h) / tf.square(y), (1, False)),
        (lambda h, y: tf.exp(h) - tf.square(y), (0, False)),
        (lambda h, y: tf.one_hot(tf.argmax(y, 1), 3), (1, True)),
        (lambda h, y: tf.one_hot(tf.argmax(y, 1), 3, 0.9, 0.05), (1, True)),
        (lambda h, y: tf.one_hot(tf.argmax(y, 1), 3, 1.0, -1.0), (0, False)),
        (lambda h, y: tf.one_hot(tf.argmax(y, 1), 3, 2.0, 0.0), (1, False)),
        (lambda h, y: tf.reduce_prod(tf.exp(h), 1), (1, False)),
        (lambda h, y: tf.reduce_prod(-tf.exp(h), 1), (0, False)),  # of three numbers below 0, or of two
    ],
)
def test_signs_of_values(values, expected):
    assert sign(values) == expected
