"""Reshapes that exchange dimensions, beside transpositions and other reshapes."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.reshapes import reshaped_for_transposed
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(shape, reshape):
    def build():
        x = reshape(v1.placeholder(tf.float32, shape, "x"))
        w = v1.get_variable("w", [int(x.shape[-1]), 1], use_resource=False)
        loss = tf.reduce_mean(tf.square(tf.tensordot(x, w, 1)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return list(reshaped_for_transposed(WholeGraph(graph, analysis), analysis))


@pytest.mark.parametrize(
    "shape, new, text",
    [
        ([4, 7, 5], [7, 4, 5], "reshapes [4, 7, 5] to [7, 4, 5]"),
        ([None, 7, 5], [7, -1, 5], "reshapes [any, 7, 5] to [7, any, 5]"),
        ([4, 6, 6, 3], [4, 3, 6, 6], "reshapes [4, 6, 6, 3] to [4, 3, 6, 6]"),
    ],
)
def test_a_reshape_that_exchanges_dimensions_is_named(shape, new, text):
    (hazard,) = found(shape, lambda x: tf.reshape(x, new, name="mixed"))
    assert hazard[:2] == ("RESHAPED_FOR_TRANSPOSED", "mixed") and text in hazard.description


@pytest.mark.parametrize("new, count", [([7, 4, 5], 1), ([4, 7, 5], 0)])
def test_rows_that_a_layer_took_one_by_one_come_back_in_their_order(new, count):
    def by_row(x):
        rows = tf.nn.softmax(
            tf.tanh(tf.matmul(tf.reshape(x, [-1, 3]), v1.get_variable("v", [3, 5], use_resource=False)))
        )
        return tf.reshape(rows, new, name="mixed")

    hazards = found([4, 7, 3], by_row)
    assert len(hazards) == count and all("reshapes [4, 7, 5] to [7, 4, 5]" in hazard[2] for hazard in hazards)


@pytest.mark.parametrize(
    "shape, reshape",
    [
        ([4, 7, 5], lambda x: tf.transpose(x, [1, 0, 2])),
        ([4, 1, 5], lambda x: tf.reshape(x, [1, 4, 5])),
        ([4, 7, 5], lambda x: tf.reshape(x, [28, 5])),
        ([4, 2, 5], lambda x: tf.reshape(tf.transpose(tf.reshape(x, [2, 4, 5]), [1, 0, 2]), [1, 8, 5])),  # dilated
        ([None, 2, 5], lambda x: tf.reshape(tf.transpose(tf.reshape(x, [2, -1, 5]), [1, 0, 2]), [2, -1, 5])),
        ([4, 6, 2, 5], lambda x: tf.reshape(x, [4, 12, 5])),
        ([4, 4, 5], lambda x: tf.reshape(x, [4, 4, 5])),
        # the parts of sequences that a dilation of 2 has made, put together: as many parts as sequences
        ([2, None, 5], lambda x: tf.reshape(tf.transpose(tf.reshape(x, [2, -1, 5]), [1, 0, 2]), [2, -1, 5])),
    ],
)
def test_transpositions_and_other_reshapes_are_not(shape, reshape):
    assert found(shape, reshape) == []


def test_examples_that_two_reshapes_keep_are_not_mixed():
    """As many capsules as examples: each position's capsules, and then all of an example."""
    assert not found([4, 5, 5, 4, 1], lambda x: tf.reshape(tf.reshape(x, [100, 4, 1]), [4, 100, 1]))


def test_a_reshape_that_exchanges_what_another_one_has_split_is_named():
    (hazard,) = found([4, 35], lambda x: tf.reshape(tf.reshape(x, [4, 7, 5]), [7, 4, 5], name="mixed"))
    assert hazard.id == "RESHAPED_FOR_TRANSPOSED"


@pytest.mark.parametrize("rows_back, count", [(4, 0), (6, 1)])
def test_rows_that_are_cut_off_and_reshaped_back_are_a_shift(rows_back, count):
    """As the scores of relative attention, where each row moves by one place; not as images that stay mixed."""

    def shifted(x):
        return tf.reshape(tf.reshape(x, [7, 4, 5], name="mixed")[1:], [rows_back, -1, 5])

    assert len(found([4, 7, 5], shifted)) == count


@pytest.mark.parametrize(
    "new, turned, count", [([3, 6, 8], False, 1), ([18, 8], False, 1), ([3, 6, 8], True, 0), ([3, 2, 24], False, 0)]
)
def test_heads_that_are_merged_past_the_words_are_named(new, turned, count):
    """The results [batch, heads, words, units] of attention are transposed before they are joined."""
    hazards = found([3, 2, 6, 4], lambda x: tf.reshape(tf.transpose(x, [0, 2, 1, 3]) if turned else x, new))
    assert [hazard.id for hazard in hazards] == ["RESHAPED_FOR_TRANSPOSED"] * count


def test_as_many_heads_as_words_tell_nothing():
    assert found([3, 4, 4, 5], lambda x: tf.reshape(x, [3, 4, 20])) == []


def scores(join, words=3):
    """Attention that weights `words` states by scores, of which it has a row for each: [words, examples]."""

    def attend(x):
        states = tf.reshape(x, [-1, words, 2])
        return join([tf.reduce_sum(tf.tanh(states[:, k]), 1) for k in range(words)])

    return attend


def stacked(rows):
    return tf.stack(rows) / tf.reduce_sum(tf.stack(rows), 0)


def joined(rows):
    return 0.5 * tf.concat([row[None] for row in rows], 0)


@pytest.mark.parametrize(
    "join, turn, count",
    [
        (stacked, lambda rows: tf.reshape(rows, [-1, 1, 3]), 1),
        (joined, lambda rows: tf.reshape(rows, [-1, 3]), 1),
        (stacked, lambda rows: tf.reshape(tf.transpose(rows), [-1, 1, 3]), 0),
        (stacked, lambda rows: tf.reshape(rows, [-1, 1]), 0),
        (lambda rows: tf.stack(rows, 1), lambda rows: tf.reshape(rows, [-1, 1, 3]), 0),
        (
            lambda rows: tf.ensure_shape(tf.tanh(rows[0] * tf.ones([3, 1])), [3, None]),
            lambda r: tf.reshape(r, [-1, 3]),
            0,
        ),
    ],
)
def test_stacked_scores_that_a_reshape_makes_columns_are_named(join, turn, count):
    hazards = found([None, 6], lambda x: turn(scores(join)(x)))
    assert [hazard.id for hazard in hazards] == ["RESHAPED_FOR_TRANSPOSED"] * count
