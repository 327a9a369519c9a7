"""Attention, means and states of padded sequences, with masks and lengths and without."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths import counted_padding
from tests.legacy.saved.hazards.lengths.loops import TIMES, loop
from tests.legacy.saved.hazards.minimized import fed, found, variable


def attention(masked=True, lengths=True, uses_state=True, fed_mask=False):
    def total():
        ends = fed("lengths", 2, dtype=tf.int32)
        outputs, state = loop("encoder", ends if lengths else None)
        query = state if uses_state else tf.ones([2, 3])
        scores = tf.reduce_sum(outputs * tf.expand_dims(query @ variable("q", 3, 3), 1), 2)
        if masked:
            mask = fed("mask", 2, TIMES) if fed_mask else tf.sequence_mask(ends, TIMES, tf.float32)
            scores += (1.0 - mask) * -1e9
        context = tf.matmul(tf.expand_dims(tf.nn.softmax(scores), 1), outputs)
        return tf.reduce_mean(tf.square(context - 1.0))

    return total


@pytest.mark.parametrize(
    "case, count",
    [
        ({"masked": False}, 1),
        ({"masked": True}, 0),
        ({"masked": True, "fed_mask": True}, 0),
        ({"masked": False, "lengths": False}, 0),
    ],
)
def test_attention_to_padding_is_named(case, count):
    assert found(counted_padding.attended_padding, attention(**case)) == ["PADDING_ATTENDED"] * count


@pytest.mark.parametrize(
    "case, count",
    [
        ({"lengths": False}, 1),
        ({"lengths": True}, 0),
        ({"lengths": False, "uses_state": False}, 0),
        ({"lengths": False, "masked": False}, 0),
        ({"lengths": False, "fed_mask": True}, 0),
    ],
)
def test_a_state_that_has_read_the_padding_is_named(case, count):
    assert found(counted_padding.states_behind_padding, attention(**case)) == ["STATE_BEHIND_PADDING"] * count


@pytest.mark.parametrize(
    "pool, lengths, count",
    [
        (lambda outputs, ends: tf.reduce_mean(outputs, 1), True, 1),
        (lambda outputs, ends: tf.reduce_mean(outputs, 1), False, 0),
        (lambda outputs, ends: tf.reduce_mean(outputs, 1) * 6.0 / tf.expand_dims(ends, 1), True, 0),
        (lambda outputs, ends: tf.reduce_mean(outputs, 1) / tf.expand_dims(ends, 1), True, 0),
        (lambda outputs, ends: tf.reduce_sum(outputs, 1) / tf.expand_dims(ends, 1), True, 0),
        (lambda outputs, ends: tf.reduce_mean(outputs, 2), True, 0),
    ],
)
def test_a_mean_over_padding_is_named(pool, lengths, count):
    def total():
        ends = fed("lengths", 2, dtype=tf.int32)
        outputs, _ = loop("encoder", ends if lengths else None)
        return tf.reduce_mean(tf.square(pool(outputs, tf.cast(ends, tf.float32)) - 1.0))

    assert found(counted_padding.averaged_padding, total) == ["PADDING_AVERAGED"] * count
