"""Counts at which a staircase of a graph rises, where no constant of the graph is such a count."""

import types

import pytest
import tensorflow as tf

from parity.coverage.visits.counter_uses import counter_uses
from parity.coverage.visits.staircases import stairs_of
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def counts(stair):
    """The counts of a graph that `stair` makes of its step counter."""

    def build():
        step = v1.get_variable("step", initializer=tf.constant(0, tf.int64), use_resource=False)
        stair(tf.cast(step, tf.float32))

    return stairs_of(counter_uses(types.SimpleNamespace(aliases={"step:0": "step"}), traced(build), {"step"}))


@pytest.mark.parametrize(
    "stair, expected",
    [
        (lambda step: tf.floor(step * 32.0 / 2000.0), [63, 125]),
        (lambda step: tf.math.floordiv(step, 50.0), [50, 100]),
        (lambda step: tf.floor(step / 6.3), [7, 13, 19]),  # 7 and 13 with 6.363, too
        (lambda step: tf.math.floordiv(tf.maximum(0.0, step - 50.0), 100.0), [150, 250]),
        (lambda step: tf.floor((step + 1.0) / 20.0), [19, 39]),
        (lambda step: tf.floor(1.0 + step / 100.0), [100, 200]),  # as a cycle that is counted from 1
        (lambda step: tf.floor(step / tf.multiply(2.0, tf.identity(25.0))), [50, 100]),  # of numbers alone
        (lambda step: tf.floor(step / tf.multiply(2.0, tf.exp(25.0))), []),
        (lambda step: tf.floor(50.0 - step), []),
        (lambda step: step * 32.0 / 2000.0, []),
        (lambda step: tf.floor(tf.exp(step)), []),
        (lambda step: tf.floor(step * -0.5), []),
    ],
)
def test_a_staircase_rises_where_a_multiple_of_the_counter_is_whole(stair, expected):
    assert counts(stair) == expected
