"""Losses of a decoder that are masked by the lengths of the encoder, beside those of its own."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.other_lengths import masked_by_other_lengths
from tests.legacy.saved.hazards.lengths.loops import TIMES, loop
from tests.legacy.saved.hazards.minimized import fed, found

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
