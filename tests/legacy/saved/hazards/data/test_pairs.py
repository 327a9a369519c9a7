"""Parts of different examples in one loss, beside clean twins."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.pairs import unpaired_inputs
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(inputs):
    def build():
        x, y = inputs()
        w = v1.get_variable("w", [4, 1], use_resource=False)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(x @ w - y)), name="train")

    return [
        hazard.description for hazard in unpaired_inputs(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    ]


def placeholders():
    return v1.placeholder(tf.float32, [8, 4], "x"), v1.placeholder(tf.float32, [8, 1], "y")


def iterator():
    data = tf.data.Dataset.from_tensors((np.ones([4], np.float32), np.ones([1], np.float32))).repeat().batch(8)
    return v1.data.make_one_shot_iterator(data)


def shuffled_alone():
    x, y = placeholders()
    return v1.random_shuffle(x, name="shuffled"), y


def shuffled_with_seeds(*seeds):
    return tuple(v1.random_shuffle(x, seed=seed, name="shuffled") for x, seed in zip(placeholders(), seeds))


def condition():
    """Examples are changed to the labels of others, which a model then finds in them."""
    x, y = placeholders()
    y = v1.random_shuffle(y)
    return tf.concat([x[:, :3], y], 1), y


def shuffled_together():
    x, y = placeholders()
    rows = v1.random_shuffle(tf.range(tf.shape(x)[0]))
    return tf.gather(x, rows), tf.gather(y, rows)


def mixed():
    x, y = placeholders()
    return 0.9 * x + 0.1 * v1.random_shuffle(x), y


def taken_twice():
    source = iterator()
    return source.get_next()[0], source.get_next()[1]


def two_batches():
    source = iterator()
    (one, label), (other, other_label) = source.get_next(), source.get_next()
    return one + other, label + other_label


def queues(shuffles_itself):
    elements = v1.FIFOQueue(40, [tf.float32, tf.float32], [[4], [1]], name="examples")
    parts = elements.dequeue(name="example")
    if not shuffles_itself:
        queue = v1.RandomShuffleQueue(40, 8, [tf.float32, tf.float32], [[4], [1]], name="batches")
        queue.enqueue(parts)
        return queue.dequeue_many(8)
    batches = []
    for name, part in zip("xy", parts):
        queue = v1.RandomShuffleQueue(40, 8, [tf.float32], [part.shape], name="batches_" + name)
        queue.enqueue([part])
        batches.append(queue.dequeue_many(8))
    return batches


def batches_of_two_queues():
    """Each tower's queue takes whole examples; the second batch's reference is the first one."""
    parts = v1.FIFOQueue(40, [tf.float32, tf.float32], [[4], [1]], name="examples").dequeue(name="example")
    batches = []
    for name in ("batches", "other_batches"):
        queue = v1.RandomShuffleQueue(40, 8, [tf.float32, tf.float32], [[4], [1]], name=name)
        queue.enqueue(parts)
        batches.append(queue.dequeue_many(8))
    (reference, _), (x, y) = batches
    return x - tf.reduce_mean(reference, 0), y


def flipped(apart, seed=None):
    x, y = v1.placeholder(tf.float32, [8, 4], "x"), v1.placeholder(tf.int32, [8, 1], "y")
    decisions = [v1.random_uniform([], seed=seed) < 0.5 for _ in range(2)]
    x, y = (
        v1.cond(decisions[apart * place], lambda part=part: tf.reverse(part, [0]), lambda part=part: part)
        for place, part in enumerate((x, y))
    )
    return x, tf.cast(y, tf.float32)


@pytest.mark.parametrize(
    "inputs, text",
    [
        (lambda: flipped(True), "flips x and cond_1/ReverseV2 flips y, by random numbers drawn apart"),
        (shuffled_alone, "shuffled shuffles x, and not y"),
        (lambda: shuffled_with_seeds(7, 8), "shuffled shuffles x, and not y"),
        (taken_twice, "one for part 0, the other for part 1"),
        (lambda: queues(True), "batches_x and batches_y shuffle, each for itself, what example takes"),
    ],
)
def test_parts_of_different_examples_are_named(inputs, text):
    (description,) = found(inputs)
    assert text in description


@pytest.mark.parametrize(
    "inputs",
    [
        placeholders,
        shuffled_together,
        mixed,
        two_batches,
        batches_of_two_queues,
        lambda: queues(False),
        lambda: flipped(False),
        lambda: flipped(True, 7),
        lambda: shuffled_with_seeds(7, 7),
        condition,
    ],
)
def test_parts_of_the_same_examples_are_not(inputs):
    assert found(inputs) == []


def of_labels(labelled):
    """The hazards of a classifier whose images and labels a function brings."""

    def build():
        x, y = labelled()
        w = v1.get_variable("w", [4, 3], use_resource=False)
        loss = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x @ w)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss), name="train")

    return [
        hazard.description for hazard in unpaired_inputs(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    ]


def arrays():
    return np.ones([8, 4], np.float32), np.zeros([8], np.int32)


def two_queues(shuffles=(True, True)):
    found = []
    for array, shuffle in zip(arrays(), shuffles):
        queue = tf.queue.RandomShuffleQueue if shuffle else None
        made = (
            queue(8, 0, array.dtype, array.shape[1:]) if queue else tf.queue.FIFOQueue(8, array.dtype, array.shape[1:])
        )
        made.enqueue_many(tf.constant(array))
        found.append(made.dequeue_many(4))
    return found


def two_datasets(seeds=(None, None), shuffles=(True, True)):
    found = []
    for array, seed, shuffle in zip(arrays(), seeds, shuffles):
        data = v1.data.Dataset.from_tensor_slices(array)
        data = data.shuffle(8, seed=seed) if shuffle else data
        found.append(v1.data.make_one_shot_iterator(data.repeat().batch(4)).get_next())
    return found


@pytest.mark.parametrize("labelled", [two_queues, two_datasets])
def test_labels_that_are_shuffled_apart_from_their_images_are_named(labelled):
    (text,) = of_labels(labelled)
    assert text.endswith("each of which is shuffled for itself")


@pytest.mark.parametrize(
    "labelled",
    [
        lambda: two_queues(shuffles=(False, False)),
        lambda: two_datasets(shuffles=(False, False)),
        lambda: two_datasets(seeds=(3, 3)),
        lambda: (v1.placeholder(tf.float32, [8, 4], "x"), v1.placeholder(tf.int32, [8], "y")),
    ],
)
def test_labels_in_the_order_of_their_images_are_not(labelled):
    assert of_labels(labelled) == []


def producers(seeds=(None, None), shuffle=True, together=False):
    """Batches of what `slice_input_producer` of one or of two sets of arrays takes in random order."""
    kept = {"shuffle": shuffle, "capacity": 8}
    if together:
        slices = v1.train.slice_input_producer([tf.constant(array) for array in arrays()], seed=seeds[0], **kept)
    else:
        slices = [
            v1.train.slice_input_producer([tf.constant(array)], seed=seed, **kept)[0]
            for array, seed in zip(arrays(), seeds)
        ]
    return [v1.train.batch([part], 4) for part in slices]


def test_labels_whose_producer_shuffles_apart_are_named():
    (text,) = of_labels(producers)
    assert "takes labels from batch_1 and logits made from batch" in text


@pytest.mark.parametrize("options", [{"together": True}, {"seeds": (3, 3)}, {"shuffle": False}])
def test_labels_whose_producers_keep_pace_are_not(options):
    assert of_labels(lambda: producers(**options)) == []
