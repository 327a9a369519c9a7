"""Crops and flips of a batch by one random number, beside those of single images."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.drawn_alike import augmented_alike
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(change, batch=2):
    def build():
        w = v1.get_variable("w", [3, 3, 1, 2], use_resource=False)
        x = change(v1.placeholder(tf.float32, [batch, 6, 6, 1], "x"))
        loss = tf.reduce_mean(tf.square(tf.nn.conv2d(x, w, 1, "SAME")))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard.id for hazard in augmented_alike(WholeGraph(graph, analysis), analysis)]


def coin():
    return v1.random_uniform([]) > 0.5


def mixed(x, share):
    """The images turned round where the share is 1, and as they are where it is 0."""
    return share * tf.reverse(x, [2]) + (1.0 - share) * x


@pytest.mark.parametrize(
    "change",
    [
        lambda x: v1.random_crop(x, [2, 4, 4, 1]),
        lambda x: v1.cond(coin(), lambda: tf.reverse(x, [2]), lambda: x),
        lambda x: v1.cond(coin(), lambda: tf.image.flip_left_right(x), lambda: x),
        lambda x: v1.cond(coin(), lambda: x[:, :, ::-1], lambda: x),
        lambda x: mixed(x, tf.cast(coin(), tf.float32)),
        lambda x: mixed(x, tf.floor(0.5 + v1.random_uniform([1, 1, 1, 1]))),
    ],
)
def test_one_number_for_all_images_is_named(change):
    assert found(change) == ["AUGMENTED_ALIKE"]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: tf.stack([v1.random_crop(image, [4, 4, 1]) for image in tf.unstack(x)]),
        lambda x: v1.where(v1.random_uniform([2]) > 0.5, tf.reverse(x, [2]), x),
        lambda x: tf.reverse(x, [2]),
        lambda x: x[:, 1:5, 1:5],
        lambda x: mixed(x, tf.floor(0.5 + v1.random_uniform([2, 1, 1, 1]))),
        lambda x: tf.reverse(x, [3]) * v1.random_uniform([]),
        lambda x: x[:, :, ::-1] * (1.0 + v1.random_uniform([])),
        lambda x: v1.cond(coin(), lambda: x[:, ::2], lambda: x[:, 1::2]),
    ],
)
def test_numbers_of_each_image_or_none_are_not(change):
    assert found(change) == []


@pytest.mark.parametrize("videos, count", [(True, 0), (False, 1)])
def test_images_of_one_video_are_cut_alike_on_purpose(videos, count):
    def change(x):
        rows = v1.placeholder(tf.float32, [2, 2, 6, 6, 1], "videos")[0] if videos else x
        return v1.random_crop(rows, [2, 4, 4, 1])

    assert found(change) == ["AUGMENTED_ALIKE"] * count


def test_a_batch_of_one_image_is_not():
    assert found(lambda x: v1.random_crop(x, [1, 4, 4, 1]), batch=1) == []
