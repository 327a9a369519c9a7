"""Images that are divided twice, or shifted by means of another range, beside those scaled once."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.scaling import badly_scaled_images, scaled_in_some_towers
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.source.conditional import with_old_cond

v1 = tf.compat.v1
MEANS = np.array([123.68, 116.78, 103.94], np.float32)


def found(scale, dtype=tf.uint8):
    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        x = scale(tf.cast(v1.placeholder(dtype, [8, 3], "images"), tf.float32))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(x @ w)), name="train")

    return list(badly_scaled_images(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


def standardized(x):
    mean = tf.reduce_mean(x)
    deviation = tf.sqrt(tf.reduce_mean(tf.square(x)) - tf.square(mean))
    return (x - mean) / tf.maximum(deviation, 0.2)


@pytest.mark.parametrize(
    "scale",
    [
        lambda x: x / 255.0 / 255.0,
        lambda x: (x * (1 / 255.0) - 0.5) / 127.5,
        lambda x: tf.reshape(x / 255.0, [-1, 3]) / 256.0,
        lambda x: standardized(x) / 255.0,
        lambda x: tf.reshape(standardized(x), [-1, 3]) * (1 / 255.0),
    ],
)
def test_images_that_are_divided_twice_are_named(scale):
    (hazard,) = found(scale)
    assert hazard.id == "IMAGES_SCALED_TWICE"


def prepared(x, one_by_one=lambda image: image):
    """Images that a loop flips by chance, one by one."""

    def flipped(image):
        image = one_by_one(image)
        return v1.cond(v1.random_uniform([]) < 0.5, lambda: tf.reverse(image, [0]), lambda: image)

    return tf.map_fn(flipped, x)


@pytest.mark.parametrize(
    "scale, count",
    [
        (lambda x: prepared(x / 255.0) / 255.0, 1),
        (lambda x: prepared(x, lambda image: image / 255.0) / 255.0, 1),
        (lambda x: prepared(x / 255.0), 0),
        (lambda x: prepared(x) / 255.0, 0),
        (lambda x: prepared(x / 255.0, lambda image: image * 255.0) / 255.0, 0),
        (lambda x: prepared(x, lambda image: tf.cond(image[0] > 1.0, lambda: image / 255.0, lambda: image)) / 255.0, 0),
    ],
)
def test_images_that_a_loop_prepares_one_by_one_are_followed(scale, count):
    hazards = with_old_cond(lambda: found(scale))()
    assert [hazard.id for hazard in hazards] == ["IMAGES_SCALED_TWICE"] * count


def test_means_of_another_range_are_named():
    (hazard,) = found(lambda x: x / 255.0 - MEANS)
    assert hazard.id == "MEANS_OF_ANOTHER_RANGE" and "shifts by 123.68" in hazard.description


@pytest.mark.parametrize(
    "scale",
    [
        lambda x: x / 255.0,
        lambda x: (x - MEANS) / 255.0,
        lambda x: (x / 255.0) * 255.0 - MEANS,  # as the readers of one model and the means of another
        lambda x: x / 255.0 - MEANS / 255.0,
        lambda x: (x / 255.0) * 2.0 - 1.0,
        lambda x: standardized(x / 255.0),
        lambda x: standardized(x) / 2.0,
        lambda x: (x / 255.0) * 255.0 / 255.0,
    ],
)
def test_images_that_are_scaled_once_are_not(scale):
    assert found(scale) == []


def in_towers(*scales):
    """The texts on two towers, each of which scales its images by one of some functions."""

    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        parts, gradients = tf.split(v1.placeholder(tf.float32, [8, 3], "images"), 2), []
        for tower, scale in enumerate(scales):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(scale(parts[tower]) @ w)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard.description for hazard in scaled_in_some_towers(WholeGraph(graph, analysis), analysis)]


def centered(x):
    return (x - 128.0) / 128.0


@pytest.mark.parametrize(
    "scales, texts",
    [
        ((centered, tf.identity), ["0's model gets 0.007812 * images - 1, and tower 1's images as it is"]),
        ((centered, lambda x: x / 128.0), ["0's model gets 0.007812 * images - 1, and tower 1's 0.007812 * images"]),
        ((centered, centered), []),
        ((centered, lambda x: x / 128.0 - 1.0), []),
        ((tf.identity, tf.identity), []),
    ],
)
def test_inputs_that_some_towers_scale_otherwise_are_named(scales, texts):
    assert in_towers(*scales) == ["tower " + text for text in texts]
