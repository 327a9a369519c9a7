"""Features normalized along the examples, beside those normalized along themselves, and weights."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.models.norms import norms_over_examples
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(features):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        x = v1.placeholder(tf.float32, [8, 4], "x")
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(features(x, w) - 1.0)), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard.id for hazard in norms_over_examples(WholeGraph(graph, analysis), analysis)]


def test_a_norm_along_the_examples_is_named():
    assert found(lambda x, w: tf.nn.l2_normalize(x @ w, 0)) == ["NORM_OVER_EXAMPLES"]


@pytest.mark.parametrize(
    "features",
    [
        lambda x, w: tf.nn.l2_normalize(x @ w, 1),
        lambda x, w: x @ tf.nn.l2_normalize(w, 0),
        lambda x, w: tf.nn.l2_normalize(x, 0) @ w,  # of the inputs alone
    ],
)
def test_norms_of_features_and_weights_are_not(features):
    assert found(features) == []
