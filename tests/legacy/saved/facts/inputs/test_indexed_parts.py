"""Parts of inputs that towers take by an index: their first dimension may be the features."""

import pytest
import tensorflow as tf

from legacy.saved.facts.inputs.indexed_parts import indexed_part
from tests.legacy.saved.facts.tower_pages import analysed_step, program, squares, variable

v1 = tf.compat.v1


def products(x):
    """The sum of the squares of a row, weighed by a weight for each of its three numbers."""
    return tf.reduce_sum(tf.square(x * variable("w", 3)))


def labelled(x, y):
    return tf.reduce_mean(tf.square(tf.tensordot(x, variable("w", 3), 1) - y))


def of(shape, take, loss=products, labels=None):
    def build():
        x = v1.placeholder(tf.float32, shape, "x")
        y = v1.placeholder(tf.float32, labels, "y") if labels else None
        program(lambda tower: loss(take(x, tower)) if y is None else loss(take(x, tower), take(y, tower)))()

    return indexed_part(analysed_step(build))


def index(x, tower):
    return x[tower]


@pytest.mark.parametrize("take", [index, lambda x, tower: tf.unstack(x)[tower], lambda x, tower: tf.gather(x, tower)])
def test_a_row_by_its_index_is_no_batch(take):
    assert of([2, 3], take) == "one row of x, of shape [3]"


@pytest.mark.parametrize(
    "arguments",
    [
        ([2, 4, 3], index, squares),  # a layer takes its rows
        ([2, 4, 3], index, labelled, [2, 4]),  # the labels are as many
        ([4, 3], lambda x, tower: x[2 * tower : 2 * tower + 2]),
    ],
)
def test_batches_by_their_index_and_slices_are(arguments):
    assert of(*arguments) == ""
