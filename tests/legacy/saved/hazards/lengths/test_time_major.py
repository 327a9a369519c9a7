"""CTC losses of logits with the times first, and with the examples first."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.time_major import examples_for_times
from tests.legacy.saved.hazards.lengths.loops import TIMES, loop
from tests.legacy.saved.hazards.minimized import fed, found_by_analysis, variable

v1 = tf.compat.v1


@pytest.mark.parametrize("batch_major, again, count", [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_examples_in_the_place_of_times_are_named(batch_major, again, count):
    def total():
        ends = fed("lengths", TIMES, dtype=tf.int32)
        outputs, _ = loop("listener", ends, batch_major, examples=TIMES)
        logits = tf.reshape(tf.reshape(outputs, [-1, 3]) @ variable("w", 3, 4), [TIMES, TIMES, 4])
        logits = tf.transpose(logits, [1, 0, 2]) if again else logits
        return tf.reduce_mean(v1.nn.ctc_loss(v1.sparse_placeholder(tf.int32, name="labels"), logits, ends))

    assert found_by_analysis(examples_for_times, total) == ["EXAMPLES_FOR_TIMES"] * count
