"""Features normalized along the examples, beside those normalized along themselves, and weights."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.norms import norms_of_all_outputs, norms_over_examples, roots_without_epsilon
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, variable
from tests.legacy.saved.hazards.minimized import found as found_in_loss

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
    "features, count",
    [
        (lambda x, w: tf.nn.l2_normalize(x @ w, [0, 1]), 1),
        (lambda x, w: tf.nn.l2_normalize(x @ w), 1),
        (lambda x, w: tf.nn.l2_normalize(x @ w, 1), 0),
        (lambda x, w: x @ tf.nn.l2_normalize(w), 0),
        (lambda x, w: (x + tf.nn.l2_normalize(tf.gradients(tf.tanh(x @ w), x)[0])) @ w, 0),  # a direction
    ],
)
def test_a_norm_of_all_examples_is_named_as_where_the_axis_is_left_out(features, count):
    assert found(features) == ["NORM_OVER_EXAMPLES"] * count


def deviations(x, w):
    return tf.nn.l2_normalize(x @ w - tf.reduce_mean(x @ w, 0, keepdims=True), 0)


@pytest.mark.parametrize(
    "features, count",
    [
        (lambda x, w: tf.matmul(deviations(x, w), deviations(x, w), transpose_a=True), 0),
        (lambda x, w: tf.reduce_sum(deviations(x, w) * x[:, :3], 0), 0),
        (lambda x, w: tf.matmul(deviations(x, w), deviations(x, w), transpose_b=True), 1),
        (lambda x, w: tf.reduce_sum(deviations(x, w) * x[:, :3], 1), 1),
    ],
)
def test_correlations_of_features_are_normalized_along_the_examples(features, count):
    assert found(features) == ["NORM_OVER_EXAMPLES"] * count


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


def normalized(divide, weights=lambda w: w):
    """Hazards of a rectified layer that `divide` normalizes by itself."""

    def loss():
        layer = tf.nn.relu(tf.matmul(fed("x", 4, 3), weights(variable("w", 3, 5))))
        return tf.reduce_mean(tf.square(divide(layer) - 1.0))

    return found_in_loss(roots_without_epsilon, loss)


def centered(layer, axis=1):
    """(The layer less its mean, its variance) by hand."""
    moved = layer - tf.reduce_mean(layer, axis, keepdims=True)
    return moved, tf.reduce_mean(tf.square(moved), axis, keepdims=True)


def by_moments(layer, divide):
    mean, variance = tf.nn.moments(layer, [0])
    return divide(layer - mean, variance)


def by_difference(layer):
    mean = tf.reduce_mean(layer, 1, keepdims=True)
    return (layer - mean) / tf.sqrt(tf.reduce_mean(layer**2, 1, keepdims=True) - mean**2)


def length(layer):
    return tf.norm(layer, axis=1, keepdims=True)


@pytest.mark.parametrize(
    "divide",
    [
        lambda layer: layer / length(layer),
        lambda layer: layer * tf.math.rsqrt(tf.reduce_sum(layer * layer, 1, keepdims=True)),
        lambda layer: (lambda moved, variance: moved / tf.sqrt(variance))(*centered(layer)),
        lambda layer: (lambda moved, variance: moved / variance**0.5)(*centered(layer, 0)),
        lambda layer: by_moments(layer, lambda moved, variance: moved / tf.sqrt(variance)),
        lambda layer: by_moments(layer, lambda moved, variance: moved * tf.math.rsqrt(variance)),
        by_difference,
    ],
)
def test_a_layer_divided_by_the_root_of_its_squares_is_named(divide):
    assert normalized(divide) == ["NORMALIZED_WITHOUT_EPSILON"]


def test_the_norm_of_what_no_rectifier_sets_to_zero_is_not():
    """As that of an embedding whose cosines are compared."""
    assert normalized(lambda layer: (lambda x: x / length(x))(tf.matmul(layer, variable("v", 5, 5)))) == []


@pytest.mark.parametrize(
    "divide",
    [
        lambda layer: layer / (length(layer) + 1e-6),
        lambda layer: layer / length(layer + 1e-6),
        lambda layer: layer / tf.maximum(length(layer), 1e-6),
        lambda layer: tf.nn.l2_normalize(layer, 1),
        lambda layer: tf.math.divide_no_nan(layer, length(layer)),
        lambda layer: by_moments(layer, lambda moved, variance: moved / tf.sqrt(variance + 1e-5)),
        lambda layer: by_moments(layer, lambda moved, variance: moved / tf.sqrt(tf.maximum(variance, 1e-5))),
        lambda layer: layer / tf.sqrt(tf.reduce_sum(tf.square(variable("scale", 5)))),
        lambda layer: layer / tf.sqrt(5.0),
        lambda layer: length(layer),
    ],
)
def test_what_is_kept_from_zero_or_no_layers_own_root_is_not(divide):
    assert normalized(divide) == []


def test_normalized_weights_are_not():
    assert normalized(lambda layer: layer, lambda w: w / tf.norm(w, axis=0)) == []


@pytest.mark.parametrize(
    "normalize, is_named",
    [
        (lambda v, g: g * tf.nn.l2_normalize(v, [0, 1]), True),
        (lambda v, g: g * v / tf.norm(v), True),
        (lambda v, g: v * (g / tf.sqrt(tf.reduce_sum(tf.square(v)))), True),
        (lambda v, g: g * tf.nn.l2_normalize(v, [0]), False),
        (lambda v, g: g * v / tf.norm(v, axis=0), False),
        (lambda v, g: tf.reduce_sum(g) * v / tf.norm(v), False),
        (lambda v, g: v / tf.norm(v) + 0.0 * g, False),
    ],
)
def test_one_norm_of_a_weight_with_a_scale_of_each_output(normalize, is_named):
    def loss():
        weights = normalize(variable("v", 3, 5), variable("g", 5))
        return tf.reduce_mean(tf.square(tf.matmul(fed("x", 4, 3), weights) - 1.0))

    assert found_in_loss(norms_of_all_outputs, loss) == ["NORM_OF_ALL_OUTPUTS"] * is_named


def deviation(x):
    return tf.sqrt(tf.nn.moments(x, [0])[1])


@pytest.mark.parametrize(
    "normalize, count",
    [
        (lambda x: (x - tf.reduce_mean(x, 0)) / deviation(x), 1),
        (lambda x: 2.0 * (x - tf.reduce_mean(x, 0)) / deviation(x), 1),
        (lambda x: (x - tf.reduce_mean(x, 0)) / tf.sqrt(tf.reduce_mean((x - tf.reduce_mean(x, 0)) ** 2, 0)), 1),
        (lambda x: (x - tf.reduce_mean(x, 0)) / (deviation(x) + 1e-8), 0),
        (lambda x: (x - tf.reduce_mean(x, 0)) / tf.sqrt(tf.nn.moments(x, [0])[1] + 1e-8), 0),
        (lambda x: (x - tf.reduce_mean(x, 0)) / tf.maximum(deviation(x), 0.1), 0),
        (lambda x: x / tf.sqrt(tf.reduce_mean(x**2, 0)), 0),  # no difference from a mean
        (lambda x: (x - 0.5) / deviation(fed("other", 8, 3)), 0),
    ],
)
def test_a_deviation_to_which_nothing_is_added_is_named(normalize, count):
    def loss():
        normal = normalize(fed("x", 8, 3))
        return tf.reduce_mean(tf.square(normal @ variable("w", 3, 2)))

    assert found_in_loss(roots_without_epsilon, loss) == ["DEVIATION_MAY_BE_ZERO"] * count
