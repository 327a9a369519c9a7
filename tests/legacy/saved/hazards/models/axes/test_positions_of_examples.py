"""Tables of positions that are looked up along the times, and along the examples of a batch."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.axes.positions_of_examples import positions_of_examples
from tests.legacy.saved.hazards import minimized


def placed(axis, is_split=True):
    def loss():
        words = minimized.fed("words", None, None, dtype=tf.int32)
        part = tf.split(words, 2)[0] if is_split else words
        rows = tf.gather(minimized.variable("table", 9, 3), part)
        places = tf.gather(minimized.variable("positions", 7, 3), tf.range(tf.shape(part)[axis]))
        return tf.reduce_mean(tf.tanh(rows + tf.expand_dims(places, 1 - axis)))

    return loss


@pytest.mark.parametrize("loss, count", [(placed(0), 1), (placed(1), 0), (placed(0, is_split=False), 0)])
def test_positions_by_the_number_of_examples_are_named(loss, count):
    assert minimized.found(positions_of_examples, loss) == ["POSITIONS_OF_EXAMPLES"] * count


def test_rows_of_data_may_be_times():
    def loss():
        part = tf.split(minimized.fed("x", None, 3), 2)[0]
        places = tf.gather(minimized.variable("positions", 7, 3), tf.range(tf.shape(part)[0]))
        return tf.reduce_mean(tf.tanh(part @ minimized.variable("w", 3, 3) + places))

    assert minimized.found(positions_of_examples, loss) == []
