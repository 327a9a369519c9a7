"""Features normalized along the examples, beside those normalized along themselves, and weights."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
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


def square(x, w):
    """As many features as examples."""
    return tf.nn.l2_normalize(x @ tf.concat([w, w, w[:, :2]], 1), 0)


def transposed(x, w):
    return tf.nn.l2_normalize(tf.transpose(x @ tf.concat([w, w, w[:, :2]], 1)), 0)


@pytest.mark.parametrize("features, hazards", [(square, ["NORM_OVER_EXAMPLES"]), (transposed, [])])
def test_of_as_many_features_as_examples_the_first_dimension_is_the_examples_unless_transposed(features, hazards):
    assert found(features) == hazards


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
