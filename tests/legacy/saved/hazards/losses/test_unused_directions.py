"""Smoothness of a map along one dimension, beside the differences along the other that nothing takes."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.unused_directions import smoothed_one_way
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def across(image):
    return image[:, :, :-1, :] - image[:, :, 1:, :]


def down(image):
    return image[:, :-1, :, :] - image[:, 1:, :, :]


def found(loss, is_trained=True):
    """The hazards of a program that minimizes `loss` of a map that it computes, or that the data are."""

    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        image = v1.placeholder(tf.float32, [2, 4, 6, 3], "x")
        made = tf.tensordot(image, w, 1)
        total = tf.reduce_mean(tf.square(made)) + loss(made if is_trained else image) * tf.reduce_mean(made)
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    return list(smoothed_one_way(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


def size(*differences):
    return tf.add_n([tf.reduce_mean(tf.abs(difference)) for difference in differences])


def of_joined_lists(image):
    listed = [tf.abs(across(image))] + [tf.abs(down(image))]
    return tf.add_n([tf.reduce_mean(listed[i]) for i in range(1)])


def test_differences_that_an_index_leaves_out_are_named():
    (hazard,) = found(of_joined_lists)
    assert hazard.id == "SMOOTHED_ONE_WAY"
    assert (
        "along dimension 1, and its result is not used" in hazard.description
        and "dimension 2 alone" in hazard.description
    )


def shown(image):
    v1.summary.scalar("roughness", size(down(image)))
    return size(across(image))


def of_second_order(image):
    first, second = across(image), down(image)
    (twice, _), (_, both) = [(across(one), down(one)) for one in (first, second)]
    return size(first, second, twice, both)


def of_another_map(image):
    size(down(tf.nn.relu(image)))
    return size(across(image))


@pytest.mark.parametrize(
    "loss",
    [
        lambda image: size(across(image), down(image)),
        lambda image: size(across(image)),
        shown,
        of_second_order,
        of_another_map,
        lambda image: size(image[:, :, :2] - image[:, :, 2:4]) + 0.0 * size(image[:, :2] - image[:, 2:]),
    ],
)
def test_maps_that_are_smoothed_both_ways_and_other_differences_are_not(loss):
    assert found(loss) == []


def test_differences_of_data_are_not():
    assert found(of_joined_lists, is_trained=False) == []
