"""Components of an example that are one part of joined images, beside components that are a part each."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.components import equal_components
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def hazards(parts, flips=True, axis=-1, extra=lambda images: []):
    """The hazards of a queue that is filled with parts of three joined images, and with what else is made of them."""

    def build():
        images = [v1.placeholder(tf.float32, [8, 8, 2], f"image{i}") for i in range(3)]
        joined = v1.image.random_crop(tf.concat(images, axis), [4, 8, 6] if axis == -1 else [4, 8, 2])
        if flips:
            joined = tf.where(tf.random.uniform([]) < 0.5, tf.reverse(joined, [1]), joined) / 255.0
        components = [part(joined) for part in parts] + extra(joined)
        queue = v1.FIFOQueue(10, [tf.float32] * len(components))
        queue.enqueue(components)
        w = v1.get_variable("w", [8, 2], use_resource=False)
        error = tf.reduce_mean(tf.square(tf.reshape(queue.dequeue()[0], [4, 8, 2]) - w))
        v1.train.GradientDescentOptimizer(0.5).minimize(error, name="train")

    return [hazard.id for hazard in equal_components(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def channels(start):
    return lambda x: x[:, :, start : start + 2]


@pytest.mark.parametrize("flips", [True, False])
@pytest.mark.parametrize("starts, count", [((0, 0, 0), 1), ((2, 2), 1), ((0, 2, 4), 0), ((0, 0, 2), 0), ((0,), 0)])
def test_parts_of_joined_images(starts, count, flips):
    assert hazards([channels(start) for start in starts], flips) == ["PART_TAKEN_TWICE"] * count


def test_parts_by_sizes():
    first, second = (lambda x, start=start: tf.slice(x, [0, 0, start], [-1, -1, 2]) for start in (0, 2))
    assert hazards([second, second]) == ["PART_TAKEN_TWICE"]
    assert hazards([first, second]) == []


def test_what_is_used_besides_is_no_fault():
    """An image that is its own target, beside all of them."""
    assert hazards([channels(0), channels(0)], extra=lambda x: [tf.reduce_mean(x)]) == []


def test_a_part_of_another_dimension_is_of_all_images():
    assert hazards([lambda x: x[:2], lambda x: x[:2]], flips=False) == []


@pytest.mark.parametrize("marks, count", [(True, 0), (False, 1)])
def test_the_marks_of_a_sentence_s_ends_are_no_arrays_that_are_left(marks, count):
    """An autoencoder's words are its targets, too."""

    def build():
        words = v1.placeholder(tf.float32, [6], "words")
        end = [tf.constant([2.0]) if marks else v1.placeholder(tf.float32, [1], f"end{i}") for i in range(2)]
        joined = tf.concat([end[0], words, end[1]], 0)
        queue = v1.FIFOQueue(10, [tf.float32] * 2)
        queue.enqueue([joined[1:-1], joined[1:-1]])
        w = v1.get_variable("w", [6], use_resource=False)
        error = tf.reduce_mean(tf.square(tf.reshape(queue.dequeue()[0], [6]) - w))
        v1.train.GradientDescentOptimizer(0.5).minimize(error, name="train")

    found = equal_components(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["PART_TAKEN_TWICE"] * count
