"""Scores of queries and keys times the root of their size, beside scores that are divided by it, and cosines."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.shares.scaled_up import scores_scaled_up
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "scale, count",
    [
        (lambda scores: scores * 2.0, 1),
        (lambda scores: scores * 2.0 + v1.placeholder(tf.float32, [2, 1, 5], "mask"), 1),
        (lambda scores: tf.where(tf.ones([2, 5, 5]) > 0, scores * 2.0, tf.fill([2, 5, 5], -1e9)), 1),
        (lambda scores: scores / 2.0 + v1.placeholder(tf.float32, [2, 1, 5], "mask"), 0),
        (lambda scores: scores / 2.0, 0),
        (lambda scores: scores * 1.5, 0),
    ],
)
def test_scores_times_the_root_of_their_size_are_named(scale, count):
    def build():
        w = v1.get_variable("w", [3, 4], use_resource=False)
        words = tf.tensordot(v1.placeholder(tf.float32, [2, 5, 3], "x"), w, 1)
        shares = tf.nn.softmax(scale(tf.matmul(words, words, transpose_b=True)))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(shares @ words)), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    hazards = scores_scaled_up(WholeGraph(graph, analysis), analysis)
    assert [hazard.id for hazard in hazards] == ["SCORES_SCALED_UP"] * count


@pytest.mark.parametrize("normalize, count", [(lambda x: tf.nn.l2_normalize(x, -1), 0), (tf.tanh, 1)])
def test_cosines_times_a_number_are_not(normalize, count):
    def build():
        w = v1.get_variable("w", [3, 4], use_resource=False)
        words = normalize(tf.tensordot(v1.placeholder(tf.float32, [2, 5, 3], "x"), w, 1))
        shares = tf.nn.softmax(2.0 * tf.matmul(words, words, transpose_b=True))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(shares @ words)), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    hazards = list(scores_scaled_up(WholeGraph(graph, analysis), analysis))
    assert [hazard.id for hazard in hazards] == ["SCORES_SCALED_UP"] * count


def heads(words):
    """Two heads of 4 numbers for each of 5 words of 8."""
    return tf.transpose(tf.reshape(words, [2, 5, 2, 4]), [0, 2, 1, 3])


@pytest.mark.parametrize(
    "query, key, scale, count",
    [
        (2.0, 1.0, 1.0, 1),
        (2**0.5, 2**0.5, 1.0, 1),
        (4.0, 1.0, 0.5, 1),  # all factors count
        (0.5, 1.0, 1.0, 0),
        (2.0, 1.0, 0.25, 0),
        (1.0, 1.0, 1.0, 0),
    ],
)
def test_so_are_queries_times_it_before_they_meet_the_keys(query, key, scale, count):
    def total():
        words = tf.reshape(minimized.fed("x", 2, 5, 3), [10, 3])
        q, k = (tf.reshape(words @ minimized.variable(name, 3, 8), [2, 5, 8]) for name in ("q", "k"))
        shares = tf.nn.softmax(scale * tf.matmul(query * heads(q), heads(key * k), transpose_b=True))
        return tf.reduce_mean(tf.square(shares @ heads(k)))

    assert minimized.found_by_analysis(scores_scaled_up, total) == ["SCORES_SCALED_UP"] * count


@pytest.mark.parametrize("projected, count", [(False, 0), (True, 1)])
def test_words_times_it_are_not(projected, count):
    """An embedding that is multiplied by the root of its size has no other place for that factor."""

    def total():
        words = tf.gather(minimized.variable("words", 9, 4), minimized.fed("ids", 2, 5, dtype=tf.int32))
        queries = tf.tensordot(words, minimized.variable("w", 4, 4), 1) if projected else words
        shares = tf.nn.softmax(tf.matmul(2.0 * queries, minimized.fed("memory", 2, 6, 4), transpose_b=True))
        return tf.reduce_mean(tf.square(shares @ minimized.fed("values", 2, 6, 4)))

    assert minimized.found_by_analysis(scores_scaled_up, total) == ["SCORES_SCALED_UP"] * count


@pytest.mark.parametrize("scale, count", [(2.0, 1), (1.0, 0)])
def test_scores_behind_a_switch_that_the_lift_fixes_are_read_from_the_step(scale, count):
    def total():
        training = v1.placeholder(tf.bool, [], "training")
        words = minimized.fed("x", 10, 3) @ minimized.variable("w", 3, 4)
        kept = v1.cond(training, lambda: tf.tanh(words), lambda: words)
        return tf.reduce_mean(tf.square(tf.nn.softmax(scale * tf.matmul(kept, kept, transpose_b=True)) @ words))

    assert minimized.found_by_analysis(scores_scaled_up, total) == ["SCORES_SCALED_UP"] * count
