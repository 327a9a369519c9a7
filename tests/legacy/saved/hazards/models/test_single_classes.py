"""A softmax over one element, beside those over several."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.single_classes import softmax_of_one
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(loss, columns):
    def build():
        x, labels = v1.placeholder(tf.float32, [8, 5, 4], "x"), v1.placeholder(tf.int32, [8], "labels")
        w = v1.get_variable("w", [4, columns], use_resource=False)
        scores = tf.reshape(tf.reshape(x, [-1, 4]) @ w, [8, 5, columns])
        v1.train.GradientDescentOptimizer(0.5).minimize(loss(x, scores, labels), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small")
    return [hazard.id for hazard in softmax_of_one(WholeGraph(graph, analysis), analysis)]


def attended(axis):
    return lambda x, scores, labels: tf.reduce_mean(tf.square(tf.reduce_sum(tf.nn.softmax(scores, axis) * x, 1)))


def classified(x, scores, labels):
    return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores[:, 0]))


@pytest.mark.parametrize(
    "loss, columns, count",
    [(attended(-1), 1, 1), (classified, 1, 1), (attended(1), 1, 0), (attended(-1), 4, 0), (classified, 2, 0)],
)
def test_a_softmax_of_one_is_named(loss, columns, count):
    assert found(loss, columns) == ["SOFTMAX_OF_ONE"] * count
