"""Regularization terms of regularization terms, beside those of weights."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.penalties.nested import penalties_of_penalties
from tests.legacy.saved.hazards import minimized


def of(*weights):
    return [0.25 * tf.nn.l2_loss(weight) for weight in weights]


@pytest.mark.parametrize(
    "terms, count",
    [
        (lambda w, v, e: of(*of(w, v)), 1),
        (lambda w, v, e: of(w, *of(v)), 1),
        (lambda w, v, e: of(tf.identity(tf.nn.l2_loss(w))), 1),
        (lambda w, v, e: of(w, v), 0),
        (lambda w, v, e: of(w - tf.stop_gradient(v)), 0),  # towards other weights
        (lambda w, v, e: of(tf.sqrt(2.0 * tf.nn.l2_loss(w)) - 1.0), 0),  # towards a norm of 1
        (lambda w, v, e: of(tf.nn.l2_loss(e)), 0),  # of data: the square of an error
        (lambda w, v, e: of(tf.matmul(w, w, transpose_a=True) - tf.eye(3)), 0),  # towards orthogonal columns
    ],
)
def test_an_l2_loss_of_a_penalty_is_named(terms, count):
    def total():
        w, v = minimized.variable("w", 4, 3), minimized.variable("v", 4, 3)
        errors = minimized.fed("x", 8, 4) @ (w + v)
        return tf.reduce_mean(tf.abs(errors)) + tf.add_n(terms(w, v, errors))

    assert minimized.found(penalties_of_penalties, total) == ["PENALTY_OF_PENALTY"] * count
