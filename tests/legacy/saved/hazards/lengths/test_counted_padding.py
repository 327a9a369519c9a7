"""Attention, means and states of padded sequences, with masks and lengths and without."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.lengths import counted_padding
from legacy.saved.hazards.lengths.loop_outputs import lengths_of_mask
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.lengths.loops import TIMES, loop
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def dropped(values):
    """Half of some values twice as large, and the others 0, as dropout of 1.15 leaves them."""
    return values * 2.0 * tf.cast(tf.random.uniform(values.shape) >= 0.5, tf.float32)


def attention(masked=True, lengths=True, uses_state=True, fed_mask=False, by_sum=False, drops=False):
    def total():
        ends = fed("lengths", 2, dtype=tf.int32)
        outputs, state = loop("encoder", ends if lengths else None)
        outputs = dropped(outputs) if drops else outputs
        query = state if uses_state else tf.ones([2, 3])
        scores = tf.reduce_sum(outputs * tf.expand_dims(query @ variable("q", 3, 3), 1), 2)
        if masked:
            mask = fed("mask", 2, TIMES) if fed_mask else tf.sequence_mask(ends, TIMES, tf.float32)
            scores += (1.0 - mask) * -1e9
        shares = tf.nn.softmax(scores)
        context = tf.reduce_sum(outputs * shares[..., None], 1) if by_sum else tf.matmul(shares[:, None], outputs)
        return tf.reduce_mean(tf.square(context - 1.0))

    return total


@pytest.mark.parametrize(
    "case, count",
    [
        ({"masked": False}, 1),
        ({"masked": False, "by_sum": True}, 1),
        ({"masked": False, "drops": True}, 1),
        ({"masked": True, "drops": True}, 0),
        ({"masked": True, "by_sum": True}, 0),
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


def tagged(lengths=False, uses_state=True, masked=True, kept=False, times=lambda tags: TIMES):
    """A loss of each word's tag, beside one of the final state, which a loop may keep by the mask it is given."""

    def total():
        ends = fed("lengths", 2, dtype=tf.int32)
        tags = fed("tags", 2, TIMES, dtype=tf.int32)
        mask = tf.sequence_mask(ends, times(tags), tf.float32)
        outputs, state = loop("encoder", ends if lengths else None, mask=mask if kept else None)
        logits = tf.reshape(tf.reshape(outputs, [-1, 3]) @ variable("t", 3, 4), [2, TIMES, 4])
        losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=tags, logits=logits)
        weights = mask if masked else tf.ones_like(mask)
        of_words = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
        return of_words + (tf.reduce_mean(tf.square(state @ variable("s", 3, 1) - 1.0)) if uses_state else 0.0)

    return total


@pytest.mark.parametrize(
    "case, count",
    [
        ({}, 1),
        ({"times": lambda tags: tf.raw_ops.Size(input=tags) // 2}, 1),
        ({"times": lambda tags: None}, 1),
        ({"lengths": True}, 0),
        ({"uses_state": False}, 0),
        ({"masked": False}, 0),
        ({"kept": True}, 0),
    ],
)
def test_a_state_beside_losses_of_words_that_are_masked_is_named(case, count):
    assert found(counted_padding.states_behind_padding, tagged(**case)) == ["STATE_BEHIND_PADDING"] * count


def decoded(is_ended_by_lengths=True, uses_state=True):
    """A loss of the words that a decoder's loop gives, whose final state is used; it counts each example's words."""

    def total():
        ends, words = fed("lengths", 2, dtype=tf.int32), fed("words", 2, TIMES, dtype=tf.int32)
        inputs = v1.TensorArray(tf.float32, TIMES).unstack(fed("x", TIMES, 2, 3))
        w = variable("w", 3, 3)

        def step(time, state, finished, counted, outputs):
            state = tf.tanh(tf.matmul(state + inputs.read(time), w))
            longer = ends if is_ended_by_lengths else tf.fill([2], TIMES)
            counted = v1.where(finished, counted, tf.fill([2], time + 1))
            return time + 1, state, time + 1 >= longer, counted, outputs.write(time, state)

        start = (
            0,
            tf.zeros([2, 3]),
            tf.zeros([2], tf.bool),
            tf.zeros([2], tf.int32),
            v1.TensorArray(tf.float32, TIMES),
        )
        alive = lambda time, state, finished, *_: tf.logical_not(tf.reduce_all(finished))  # noqa: E731
        _, state, _, counted, outputs = tf.while_loop(alive, step, start)
        logits = tf.reshape(
            tf.reshape(tf.transpose(outputs.stack(), [1, 0, 2]), [-1, 3]) @ variable("t", 3, 4), [2, -1, 4]
        )
        losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=words, logits=logits)
        mask = tf.sequence_mask(counted if is_ended_by_lengths else ends, TIMES, tf.float32)
        return tf.reduce_sum(losses * mask) + (tf.reduce_mean(tf.square(state - 1.0)) if uses_state else 0.0)

    return total


@pytest.mark.parametrize(
    "case, count",
    [({}, 0), ({"uses_state": False}, 0), ({"is_ended_by_lengths": False}, 1)],
)
def test_a_decoder_that_runs_up_to_the_longest_length_has_lengths(case, count):
    assert found(counted_padding.states_behind_padding, decoded(**case)) == ["STATE_BEHIND_PADDING"] * count


def test_the_number_of_words_that_a_decoder_counts_is_no_state(monkeypatch):
    monkeypatch.setattr(counted_padding, "lengths_that_end_loop", lambda whole, outputs: "")
    assert found(counted_padding.states_behind_padding, decoded(uses_state=False)) == []


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


@pytest.mark.parametrize("ends, is_lengths", [(lambda x: tf.shape(x)[1], False), (lambda x: x[:, :1], True)])
def test_a_mask_is_of_lengths_where_data_give_them_and_not_sizes(ends, is_lengths):
    """As a causal mask has them, of the size of the words."""

    def build():
        x = v1.placeholder(tf.int32, [2, None], "x")
        tf.less(tf.range(tf.shape(x)[1]), ends(x), name="mask")

    whole = WholeGraph(saved(traced(build)))
    assert bool(lengths_of_mask(whole, "mask")) == is_lengths


@pytest.mark.parametrize(
    "mask, decoder, count",
    [
        (("target",), "target", 1),
        (("source",), "target", 0),
        (("source", "target"), "target", 0),
        (("third",), "target", 0),
        (("target",), None, 0),
    ],
)
def test_attention_masked_by_the_lengths_of_the_decoder_is_named(mask, decoder, count):
    def total():
        ends = {name: fed(name, 2, dtype=tf.int32) for name in ("source", "target", "third")}
        read, _ = loop("encoder", ends["source"])
        written, _ = loop("decoder", ends.get(decoder))
        scores = tf.matmul(written, read, transpose_b=True)
        for name in mask:
            kept = tf.sequence_mask(ends[name], TIMES, tf.float32)
            scores += (1.0 - (kept[:, None] if name != "target" or len(mask) == 1 else kept[:, :, None])) * -1e9
        return tf.reduce_mean(tf.square(tf.matmul(tf.nn.softmax(scores), read)))

    assert found(counted_padding.attended_by_other_lengths, total) == ["LENGTHS_OF_ANOTHER"] * count
