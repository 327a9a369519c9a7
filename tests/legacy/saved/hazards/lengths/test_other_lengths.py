"""Losses of a decoder masked by the lengths of the encoder, and of CTC over all times, beside those of their own."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.other_lengths import all_times_of_ctc, masked_by_other_lengths
from tests.legacy.saved.hazards.lengths.loops import TIMES, loop
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "mask, decoder, count",
    [
        ("source", "target", 1),
        ("target", "target", 0),
        ("source", None, 0),
        ("third", "target", 0),
    ],
)
def test_a_mask_of_other_lengths_is_named(mask, decoder, count):
    def total():
        ends = {name: fed(name, 2, dtype=tf.int32) for name in ("source", "target", "third")}
        read, _ = loop("encoder", ends["source"])
        written, _ = loop("decoder", ends.get(decoder))
        logits = written + tf.matmul(tf.nn.softmax(tf.matmul(written, read, transpose_b=True)), read)
        labels = fed("labels", 2, TIMES, dtype=tf.int32)
        losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        weights = tf.sequence_mask(ends[mask], TIMES, tf.float32)
        return tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)

    assert found(masked_by_other_lengths, total) == ["LENGTHS_OF_ANOTHER"] * count


@pytest.mark.parametrize("has_encoder", [True, False])
def test_a_mask_of_lengths_that_no_other_loop_is_given_is_not(has_encoder):
    """A language model is fed the lengths of words and of next words, which are equal."""

    def total():
        words, next_words = (fed(name, 2, dtype=tf.int32) for name in ("words", "next_words"))
        if has_encoder:
            tf.reduce_sum(loop("encoder", next_words)[0])
        logits, _ = loop("decoder", words, trains_inputs=True)
        labels = fed("labels", 2, TIMES, dtype=tf.int32)
        losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return tf.reduce_sum(losses * tf.sequence_mask(next_words, TIMES, tf.float32))

    assert found(masked_by_other_lengths, total) == ["LENGTHS_OF_ANOTHER"] * has_encoder


@pytest.mark.parametrize("lengths, fed_to_loss, count", [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_a_ctc_loss_of_all_times_behind_a_loop_with_lengths_is_named(lengths, fed_to_loss, count):
    def total():
        ends = fed("lengths", 2, dtype=tf.int32)
        outputs, _ = loop("listener", ends if lengths else None, batch_major=False)
        logits = tf.reshape(tf.reshape(outputs, [-1, 3]) @ variable("w", 3, 4), [TIMES, 2, 4])
        labels = v1.sparse_placeholder(tf.int32, name="labels")
        times = ends if fed_to_loss else tf.fill([2], TIMES)
        return tf.reduce_mean(v1.nn.ctc_loss(labels, logits, times))

    assert found(all_times_of_ctc, total) == ["LENGTHS_NOT_OF_LOSS"] * count
