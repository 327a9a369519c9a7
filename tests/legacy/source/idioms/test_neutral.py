"""Zeros that are added: they are left out where they change no bit."""

import pytest
import tensorflow as tf

from legacy.source.idioms import neutral
from tests.legacy.source.tiny import written


@pytest.mark.parametrize(
    "build, text",
    [
        (lambda x: 0.0 + 0.5 * tf.nn.l2_loss(x), 'return 0.5 * tf.nn.l2_loss(batch["x"])'),
        (lambda x: tf.square(x) + 0.0, 'return tf.square(batch["x"])'),
        (lambda x: 0.0 + 0.5 * x, 'return 0.0 + 0.5 * batch["x"]'),  # which makes 0.0 of -0.0
        (lambda x: x + 0.0, 'return batch["x"] + 0.0'),
    ],
)
def test_a_zero_is_left_out_where_the_result_is_never_minus_zero(build, text):
    assert written(build, {"x": [3]}) == [text]
    assert callable(neutral.match_neutral)


def test_a_multiple_by_a_negative_number_may_be_minus_zero():
    (line,) = written(lambda x: 0.0 + -0.5 * tf.nn.l2_loss(x), {"x": [3]})
    assert line.startswith("return 0.0 ")


@pytest.mark.parametrize(
    "build, text",
    [
        (lambda x: tf.logical_and(True, x > 2.0), 'return batch["x"] > 2.0'),
        (lambda x: tf.logical_or(x > 2.0, False), 'return batch["x"] > 2.0'),
        (lambda x: tf.logical_or(x > 2.0, x < 1.0), "return (x > 2.0) | (x < 1.0)"),
    ],
)
def test_a_condition_that_always_holds_is_left_out(build, text):
    """As of the first case of a `piecewise_constant` of 1.x."""
    assert written(build, {"x": [3]})[-1] == text


def test_a_condition_that_never_holds_stays():
    assert "False" in written(lambda x: tf.logical_and(False, x > 2.0), {"x": [3]})[-1]


@pytest.mark.parametrize(
    "unchanged",
    [
        lambda x: tf.reshape(x, [4, 3]),
        lambda x: x * 1.0,
        lambda x: 1.0 * x,
        lambda x: tf.transpose(x, [0, 1]),
    ],
)
def test_what_changes_nothing_is_a_copy_where_it_groups_the_parts_of_a_gradient(unchanged):
    def twice(x):
        copy = unchanged(x)
        return tf.square(copy) * tf.tanh(copy)

    def text(of_sum):
        return "\n".join(written(lambda x, w: tf.reduce_sum(of_sum(w + x)), {"x": [3]}, {"w": [4, 3]}, batch=4))

    assert text(lambda x: twice(x) + twice(x)).count("= tf.identity(x)") == 2
    assert "identity" not in text(twice)
    assert "identity" not in text(lambda x: tf.square(unchanged(x)) + tf.tanh(unchanged(x)))


@pytest.mark.parametrize("is_used_besides", [True, False])
def test_the_mean_of_a_scalar_is_a_copy_where_it_orders_the_parts_of_a_gradient(is_used_besides):
    """As of a loss of `tf.losses`, beside another term of the same results."""

    def loss(x, w):
        results = tf.tanh(x * w)
        error = tf.reduce_sum(tf.square(results) * results)
        other = tf.reduce_sum(tf.exp(results)) if is_used_besides else tf.reduce_sum(tf.exp(w))
        return error + (tf.reduce_mean(error) + other)

    text = "\n".join(written(loss, {"x": [3]}, {"w": [4, 3]}, batch=4))
    assert text.count("tf.identity(") == is_used_besides and "reduce_mean" not in text
