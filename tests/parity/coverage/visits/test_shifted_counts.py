"""Counts at which a schedule changes that counts from the end of a warm-up on."""

import types

import pytest
import tensorflow as tf

from parity.coverage.visits.counter_uses import counter_uses
from parity.coverage.visits.shifted_counts import behind_shifts
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "later, expected",
    [
        (lambda step: step - 7.0, [27, 37]),
        (lambda step: tf.cast(tf.cast(step, tf.int32) - 7, tf.float32), [27, 37]),
        (lambda step: v1.cond(step < 7.0, lambda: step, lambda: step - 7.0), [27, 37]),
        (lambda step: step * 2.0 - 7.0, []),  # no difference of the count itself
        (lambda step: 7.0 - step, []),
        (lambda step: step - 0.5, []),
        (lambda step: step + 7.0, []),
    ],
)
def test_a_number_is_reached_later_by_what_is_subtracted_from_the_counter(later, expected):
    def build():
        step = v1.get_variable("step", initializer=tf.constant(0.0), use_resource=False)
        later(tf.identity(step))

    plan = types.SimpleNamespace(aliases={"step:0": "step"})
    assert behind_shifts(counter_uses(plan, traced(build), {"step"}), [20, 30]) == expected
