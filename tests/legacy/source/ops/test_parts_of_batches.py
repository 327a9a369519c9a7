"""A model that splits its batch itself: sizes of the parts follow the number of examples."""

import numpy as np
import tensorflow as tf

from tests.legacy.source.tiny import values_of, written

SIZES = {"x": [2, 3]}


def given(rows):
    return {"x": np.random.RandomState(0).randn(rows, 2, 3).astype(np.float32)}


def flat(half):
    return tf.reshape(half, [tf.shape(half)[0], 6])


def test_a_reshape_of_a_part_of_the_batch_takes_any_number_of_examples():
    lines = written(lambda x: flat(tf.split(x, 2)[1]), SIZES)
    assert "tf.reshape(x, [-1, 6])" in lines[-1], lines
    for rows in (4, 10):
        assert np.array_equal(values_of(lines, given(rows)), given(rows)["x"][rows // 2 :].reshape(-1, 6))


def test_a_state_of_a_part_of_the_batch_has_its_rows():
    def state(x):
        half = tf.split(x, 2)[0]
        return (
            flat(half) + tf.zeros([tf.shape(half)[0], 6]) + tf.reshape(tf.fill([tf.shape(half)[0] * 6], 1.0), [-1, 6])
        )

    lines = written(state, SIZES)
    for rows in (4, 10):
        assert np.array_equal(values_of(lines, given(rows)), given(rows)["x"][: rows // 2].reshape(-1, 6) + 1.0)


def test_rows_that_are_no_part_of_the_batch_have_no_row_of_it():
    def without_first(x):
        rest = tf.slice(x, [1, 0, 0], [tf.shape(x)[0] - 1, -1, -1])
        return tf.reshape(tf.transpose(rest, [1, 0, 2]), [2, -1])

    lines = written(without_first, SIZES)
    assert "//" not in "\n".join(lines), lines
