"""Parts of an input that towers take, as the rows that they have."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.dealt_parts import deals, dealt
from tests.legacy.saved.graphs import saved, traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def rows(take):
    """(first row, stride, end) of what `take` takes of eight rows; None if it is no part by constants."""

    def build():
        tf.identity(take(v1.placeholder(tf.float32, [8, 3], "x")), name="taken")

    whole = WholeGraph(saved(traced(build)))
    part = dealt(whole, whole.graph.inputs("taken")[0])
    assert (part is None) or whole.graph.inputs("taken")[0].node in deals(whole)
    return part and part[1:]


@pytest.mark.parametrize(
    "take, expected",
    [
        (lambda x: x[2:6], (2, 1, 6)),
        (lambda x: x[1::2], (1, 2, -1)),
        (lambda x: tf.slice(x, [4, 0], [4, -1]), (4, 1, 8)),
        (lambda x: tf.slice(x, [4, 0], [-1, 2]), (4, 1, -1)),
        (lambda x: tf.split(x, 4)[3], (3, 0, 4)),
        (lambda x: tf.stack(tf.unstack(x)[1::3]), (1, 3, 8)),
        (lambda x: tf.gather(x, [0, 2, 4]), (0, 2, 5)),
    ],
)
def test_rows_of_a_rule_are_a_part(take, expected):
    assert rows(take) == expected


@pytest.mark.parametrize(
    "take",
    [
        lambda x: tf.stack(tf.unstack(x, axis=1)),
        lambda x: tf.stack(tf.unstack(x)[::2], axis=1),
        lambda x: tf.stack([tf.unstack(x)[0], x[1]]),
        lambda x: tf.gather(x, [3, 2, 1]),
        lambda x: tf.gather(x, [0, 1], axis=1),
        lambda x: tf.split(x, 3, axis=1)[0],
        lambda x: tf.slice(x, tf.stack([v1.placeholder(tf.int32, []), 0]), [4, -1]),
        lambda x: (x * 2.0)[2:6],
    ],
)
def test_other_rows_are_not(take):
    assert rows(take) is None


def test_a_tensor_of_no_deal_is_no_part():
    whole = WholeGraph(saved(traced(lambda: tf.identity(v1.placeholder(tf.float32, [8, 3], "x"), name="copy"))))
    assert dealt(whole, TensorId("copy", 0)) is None
