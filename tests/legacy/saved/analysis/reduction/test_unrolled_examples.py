"""Sums over a Python loop that takes one example after another."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.reduction.unrolled_examples import is_sum_of_each_row
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def _is_of_each_row(loss, batch=4):
    """Whether a loss of a batch of features and its labels is a sum of terms of one example each."""

    def build():
        x = v1.placeholder(tf.float32, [batch, 4, 3], "x")
        y = v1.placeholder(tf.float32, [batch, 4], "y")
        tf.identity(loss(tf.tanh(x), y), "loss")

    context = Context(traced(build))
    return is_sum_of_each_row(context.graph, context.imported, context.data, TensorId("loss", 0), batch)


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, y: sum(tf.reduce_sum(x[row]) for row in range(4)),
        lambda x, y: sum(tf.exp(tf.reduce_mean(x[row] * y[row, :, None])) for row in range(4)),
        lambda x, y: tf.add_n([tf.nn.l2_loss(x[row, :, :1]) for row in range(4)]),
        lambda x, y: sum(tf.nn.l2_loss(x[row]) + tf.nn.l2_loss(y[row]) for row in range(4)),  # two terms of each
        lambda x, y: sum(tf.nn.l2_loss(x[row]) for row in range(-4, 0)),
    ],
)
def test_a_loop_over_the_examples(loss):
    assert _is_of_each_row(loss)


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, y: tf.reduce_sum(x),
        lambda x, y: sum(tf.reduce_sum(x[row]) for row in range(3)),  # leaves one out
        lambda x, y: sum(tf.reduce_sum(x[row]) for row in (0, 1, 2, 2)),
        lambda x, y: sum(tf.reduce_sum(x[:, time]) for time in range(4)),  # of each time
        lambda x, y: sum(tf.reduce_sum(x[row] - x[row - 1]) for row in range(4)),  # of two examples
        lambda x, y: sum(tf.reduce_sum(x[row]) * tf.reduce_sum(y) for row in range(4)),
        lambda x, y: sum(tf.reduce_sum(x[row]) for row in range(4)) + tf.reduce_mean(y),
    ],
)
def test_a_loop_over_others(loss):
    assert not _is_of_each_row(loss)
