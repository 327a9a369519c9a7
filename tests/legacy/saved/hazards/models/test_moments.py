"""Moments of images along too few axes, beside those of normalizations."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.moments import moments_of_another_layout, moments_of_parts
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def found(axes, size=(5, 6), moments=tf.nn.moments, features=lambda x, kernel: tf.nn.conv2d(x, kernel, 1, "SAME")):
    def build():
        kernel = v1.get_variable("kernel", [3, 3, 2, 4], use_resource=False)
        images = features(v1.placeholder(tf.float32, [4, *size, 2], "x"), kernel)
        mean, variance = moments(images, axes, keepdims=True)
        loss = tf.reduce_mean(tf.nn.relu(tf.nn.batch_normalization(images, mean, variance, None, None, 1e-3)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["kernel"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard.id for hazard in moments_of_parts(WholeGraph(graph, analysis), analysis)]


@pytest.mark.parametrize("axes", [[0], [1], [2], [0, 1], [0, 2]])
def test_moments_along_some_of_the_pixels_are_named(axes):
    assert found(axes) == ["MOMENTS_OF_PARTS"]


@pytest.mark.parametrize("axes", [[0, 1, 2], [1, 2], [1, 2, 3], [3]])
def test_those_of_normalizations_are_not(axes):
    assert found(axes) == []


def test_those_of_sequences_and_other_means_are_not():
    def means(images, axes, keepdims):
        return tf.reduce_mean(images, axes, keepdims=True), tf.ones([])

    assert found([0, 1], size=(5, 1)) == []  # times, of one column
    assert found([0, 1], moments=means) == []
    assert found([0, 1], features=lambda x, kernel: tf.tensordot(x, kernel[0, 0], 1)) == []


@pytest.mark.parametrize(
    "normalize, count",
    [
        (lambda images, mean, variance: tf.concat([images, tf.fill([4, 5, 6, 1], 1.0)], 3), 0),
        (lambda images, mean, variance: images - mean, 1),
        (lambda images, mean, variance: (images - tf.reduce_mean(images, [0])) / tf.sqrt(variance + 1e-8), 1),
    ],
)
def test_a_deviation_along_the_examples_may_be_a_feature(normalize, count):
    """As a critic takes it, to see how much the examples of a batch vary."""

    def build():
        kernel = v1.get_variable("kernel", [3, 3, 2, 4], use_resource=False)
        images = tf.nn.conv2d(v1.placeholder(tf.float32, [4, 5, 6, 2], "x"), kernel, 1, "SAME")
        mean, variance = tf.nn.moments(images, [0])
        varied = normalize(images, mean, variance)
        loss = tf.reduce_mean(tf.square(varied)) * tf.reduce_mean(tf.sqrt(variance + 1e-8))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["kernel"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    hazards = list(moments_of_parts(WholeGraph(graph, analysis), analysis))
    assert [hazard.id for hazard in hazards] == ["MOMENTS_OF_PARTS"] * count


@pytest.mark.parametrize(
    "convolved, normalized, is_turned, count",
    [("NHWC", "NCHW", False, 1), ("NHWC", "NHWC", False, 0), ("NCHW", "NCHW", False, 0), ("NHWC", "NCHW", True, 0)],
)
def test_a_normalization_in_another_layout_than_the_convolution_is_named(convolved, normalized, is_turned, count):
    def loss():
        kernel = minimized.variable("kernel", 3, 3, 4, 4)
        images = v1.nn.conv2d(minimized.fed("x", 4, 4, 4, 4), kernel, [1, 1, 1, 1], "SAME", data_format=convolved)
        images = tf.transpose(images, [0, 3, 1, 2]) if is_turned else images
        scale, offset = minimized.variable("scale", 4), minimized.variable("offset", 4)
        images = v1.nn.fused_batch_norm(tf.nn.relu(images), scale, offset, data_format=normalized)[0]
        return tf.reduce_mean(tf.square(images))

    assert minimized.found(moments_of_another_layout, loss) == ["MOMENTS_OF_PARTS"] * count
