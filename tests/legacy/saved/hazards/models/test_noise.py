"""Gumbel noise with and without its minus sign, and normal noise of one example and of each."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.noise import codes_of_one_sign, gumbel_noise, noise_of_one_example, noise_of_one_sign
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized
from workloads.lifted.graph import Graph

v1 = tf.compat.v1


def found(perturbed):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        uniform = v1.random_uniform([8, 3], 1e-6, 1.0)
        shares = tf.nn.softmax(perturbed(v1.placeholder(tf.float32, [8, 4], "x") @ w, uniform))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(shares)), name="train")

    return [hazard.id for hazard in gumbel_noise(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


@pytest.mark.parametrize(
    "perturbed, count",
    [
        (lambda logits, u: logits + tf.math.log(-tf.math.log(u)), 1),
        (lambda logits, u: logits + (tf.math.log(-tf.math.log(u + 1e-9) + 1e-9)), 1),
        (lambda logits, u: logits - tf.math.log(-tf.math.log(u)), 0),
        (lambda logits, u: logits + -tf.math.log(-tf.math.log(u + 1e-9) + 1e-9), 0),
        (lambda logits, u: logits + tf.math.log(u), 0),
    ],
)
def test_noise_without_its_minus_sign_is_named(perturbed, count):
    assert found(perturbed) == ["GUMBEL_SIGN"] * count


def drawn(shape, deviation=tf.exp):
    def build():
        w = v1.get_variable("w", [4, 6], use_resource=False)
        mean, h = tf.split(v1.placeholder(tf.float32, [8, 4], "x") @ w, 2, 1)
        z = mean + deviation(h) * v1.random_normal(shape, 0.0, 1.0)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(z)), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small")
    return [hazard.id for hazard in noise_of_one_example(WholeGraph(graph, analysis), analysis)]


@pytest.mark.parametrize(
    "shape, deviation, count",
    [
        ([3], tf.exp, 1),
        ([1, 3], lambda h: tf.sqrt(tf.exp(h) + 1e-6), 1),
        ([8, 3], tf.exp, 0),
        ([8, 1], tf.exp, 0),  # one number for each example
        ([1, 8, 3], tf.exp, 0),  # one sample of each example's numbers, as tf.distributions draws it
        ([5, 1, 3], tf.exp, 1),  # five samples, each for all examples
        ([3], lambda h: h, 0),  # no deviation
        ([3], lambda h: tf.exp(tf.reduce_mean(h, 0)), 0),
    ],
)
def test_noise_of_one_example_for_all_is_named(shape, deviation, count):
    assert drawn(shape, deviation) == ["NOISE_OF_ONE_EXAMPLE"] * count


def test_an_analysis_that_takes_a_branch_and_products_of_constants_are_no_noise():
    """The analysed graph lacks the switch of a branch that is always taken, and a product of copies has no source."""

    def build():
        w = v1.get_variable("w", [4, 6], use_resource=False)
        x = v1.placeholder(tf.float32, [8, 4], "x") @ w
        training = v1.placeholder(tf.bool, [], "training")
        shift = v1.cond(training, lambda: tf.identity(x), lambda: x * 0.5)
        z = shift * tf.identity(v1.cond(training, lambda: tf.exp(x), lambda: x)) * tf.identity(tf.constant(2.0))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(z)), name="train")

    with v1.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        build()
    graph = saved(Graph(graph.as_graph_def(add_shapes=True)), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", feed={"training": "true"})
    assert list(noise_of_one_example(WholeGraph(graph, analysis), analysis)) == []


def coded(noise, deviation=tf.exp, of_mean=True, is_code=True):
    def loss():
        x = minimized.fed("x", 8, 4)
        mean, scale = x @ minimized.variable("m", 4, 3), deviation(0.5 * (x @ minimized.variable("s", 4, 3)))
        code = (mean if of_mean else 0.0) + scale * noise(tf.shape(mean))
        result = code @ minimized.variable("d", 3, 2)
        return tf.reduce_mean(tf.square(result)) + (tf.reduce_mean(tf.square(mean)) if is_code else 0.0)

    return loss


@pytest.mark.parametrize(
    "noise, deviation, of_mean, count",
    [
        (tf.random.uniform, tf.exp, True, 1),
        (lambda shape: 2.0 * tf.random.uniform(shape) + 0.5, tf.nn.softplus, True, 1),
        (tf.random.normal, tf.exp, True, 0),
        (lambda shape: tf.random.uniform(shape, -1.0, 1.0), tf.exp, True, 0),
        (tf.random.uniform, tf.identity, True, 0),  # a share of a layer's result, of either sign
        (tf.random.uniform, tf.exp, False, 0),  # a scale that is drawn
    ],
)
def test_noise_of_a_code_that_is_never_negative_is_named(noise, deviation, of_mean, count):
    assert minimized.found(noise_of_one_sign, coded(noise, deviation, of_mean)) == ["NOISE_NEVER_NEGATIVE"] * count


def rectified(mean, logarithm, noise=tf.random.normal, is_code=True):
    def loss():
        x = minimized.fed("x", 8, 4)
        m, s = mean(x @ minimized.variable("m", 4, 3)), logarithm(x @ minimized.variable("s", 4, 3))
        code = m + tf.exp(0.5 * s) * noise(tf.shape(m))
        divergence = tf.square(m) + tf.exp(s) - s if is_code else 0.0
        return tf.reduce_mean(tf.square(code @ minimized.variable("d", 3, 2))) + tf.reduce_mean(divergence)

    return loss


@pytest.mark.parametrize(
    "mean, logarithm, count",
    [
        (tf.nn.relu, tf.identity, 1),
        (tf.identity, tf.nn.relu, 1),
        (tf.identity, tf.identity, 0),
        (tf.tanh, lambda s: tf.clip_by_value(s, -4.0, 4.0), 0),
    ],
)
def test_a_code_whose_moments_are_rectified_is_named(mean, logarithm, count):
    assert minimized.found(codes_of_one_sign, rectified(mean, logarithm)) == ["CODE_RECTIFIED"] * count


def test_layers_with_noise_that_are_no_codes_may_be_rectified_or_spread_to_one_side():
    """As the hidden layer of a network, and a place in a box of which its corner and size are computed."""
    assert minimized.found(codes_of_one_sign, rectified(tf.nn.relu, tf.identity, is_code=False)) == []
    assert minimized.found(noise_of_one_sign, coded(tf.random.uniform, is_code=False)) == []
