"""Towers with iterators or queues of equal data, beside those of parts and those that are shuffled apart."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.iterators import same_examples, shuffles_of_one
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1

EXAMPLE = "tower_0/example:0"


def found(dataset, one_shot=True, shared=False, once=False, check=same_examples, outside=False):
    """The hazards of two towers that each take the examples of `dataset(tower)`, or of one dataset made once.

    An iterator is made in its tower, or `outside`, on the CPU.
    """

    def build():
        made = dataset(0) if once else None
        w = v1.get_variable("w", [4, 1], use_resource=False)
        gradients, iterators = [], []
        for tower in range(2):
            make = v1.data.make_one_shot_iterator if one_shot else v1.data.make_initializable_iterator
            scope = "input" if outside else f"tower_{tower}"
            with tf.device("/cpu:0" if outside else f"/gpu:{tower}"), tf.name_scope(scope):
                iterators.append(make(made if once else dataset(tower)))
                x = iterators[0 if shared else tower].get_next()
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(x @ w)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    return list(check(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


def arrays(first=0):
    return v1.data.Dataset.from_tensor_slices(np.arange(first, first + 32, dtype=np.float32).reshape(8, 4))


def generated():
    return v1.data.Dataset.from_generator(lambda: iter(np.ones([8, 4], np.float32)), tf.float32, [4])


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("one_shot", [True, False])
@pytest.mark.parametrize("seed", [None, 3])
def test_equal_datasets_are_named(one_shot, seed, outside):
    def dataset(tower):
        made = arrays().map(lambda x: x + 1.0)
        return (made if seed is None else made.shuffle(8, seed=seed)).repeat().batch(4)

    (hazard,) = found(dataset, one_shot, outside=outside)
    assert hazard.id == "SAME_BATCH" and "towers 0, 1 take the same examples in the same order" in hazard.description


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("one_shot", [True, False])
@pytest.mark.parametrize(
    "dataset",
    [
        lambda tower: arrays().shard(2, tower).batch(4),
        lambda tower: arrays().shuffle(8).batch(4),
        lambda tower: arrays().shuffle(8, seed=tower + 1).batch(4),
        lambda tower: arrays(16 * tower).batch(4),
        lambda tower: generated().batch(4),  # two Python functions, each called anew
    ],
)
def test_other_parts_and_orders_are_not(dataset, one_shot, outside):
    assert found(dataset, one_shot, outside=outside) == []


@pytest.mark.parametrize("outside", [True, False])
def test_one_iterator_of_all_towers_is_not(outside):
    assert found(lambda tower: arrays().batch(4), shared=True, outside=outside) == []


@pytest.mark.parametrize("dataset", [lambda tower: generated().batch(4), lambda tower: arrays().shuffle(8).batch(4)])
def test_one_dataset_that_each_iterator_makes_anew_is_not(dataset):
    assert found(dataset, once=True) == []


@pytest.mark.parametrize("one_shot", [True, False])
@pytest.mark.parametrize("buffer, count", [(1, 1), (8, 0)])
def test_a_shuffle_of_one_element_is_named(buffer, count, one_shot):
    hazards = found(lambda tower: arrays().shuffle(buffer).batch(4), one_shot, shared=True, check=shuffles_of_one)
    assert [hazard.id for hazard in hazards] == ["SHUFFLE_OF_ONE"] * count


@pytest.mark.parametrize("one_shot", [True, False])
def test_a_list_of_one_file_is_shuffled_by_its_length_and_is_no_hazard(one_shot):
    def records(tower):
        files = tf.data.Dataset.from_tensor_slices(np.zeros([1, 3], np.float32)).repeat().shuffle(1)
        return files.interleave(lambda file: arrays(), cycle_length=1).batch(4)

    assert not found(records, one_shot, shared=True, check=shuffles_of_one)


@pytest.mark.parametrize("first, last, count", [(1, 8, 0), (8, 1, 1)])
def test_a_shuffle_of_one_element_before_a_larger_one_is_no_hazard(first, last, count):
    hazards = found(
        lambda tower: arrays().shuffle(first).map(lambda *parts: parts).shuffle(last).batch(4),
        one_shot=False,
        shared=True,
        check=shuffles_of_one,
    )
    assert len(hazards) == count


def of_queues(fill):
    """The hazards of two towers of which each takes the examples of the queue that `fill(tower)` returns."""

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                x = fill(tower).dequeue_many(8)
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(x @ w)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    return [hazard.id for hazard in same_examples(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def files(names=("a",), shuffled=True):
    queue = v1.FIFOQueue(32, tf.string, [[]])
    listed = tf.identity(tf.constant(names))
    queue.enqueue_many([v1.random_shuffle(listed) if shuffled else listed])
    return queue


def examples_of(names, queue=v1.FIFOQueue, change=lambda image: image):
    filled = queue(capacity=64, dtypes=[tf.float32], shapes=[[4]])
    filled.enqueue([change(tf.io.decode_raw(v1.FixedLengthRecordReader(16).read(names)[1], tf.float32))])
    return filled


@pytest.mark.parametrize("names, shuffled", [(("a",), True), (("a", "b"), False)])
def test_queues_that_are_filled_from_the_same_files_in_their_order_are_named(names, shuffled):
    assert of_queues(lambda tower: examples_of(files(names, shuffled))) == ["SAME_BATCH"]


def shuffling(capacity, dtypes, shapes):
    return v1.RandomShuffleQueue(capacity, 16, dtypes, shapes)


def fed(tower):
    """A queue that is filled with what the program feeds to one placeholder, for each queue in a run of its own."""
    graph, filled = v1.get_default_graph(), v1.FIFOQueue(64, tf.float32, [[4]])
    filled.enqueue([v1.placeholder(tf.float32, [4], "example") if not tower else graph.get_tensor_by_name(EXAMPLE)])
    return filled


@pytest.mark.parametrize(
    "fill",
    [
        lambda tower: examples_of(files(("a", "b"))),
        lambda tower: examples_of(files((f"part_{tower}",))),
        lambda tower: examples_of(files(), shuffling),
        lambda tower: examples_of(files(), change=lambda image: image * v1.random_uniform([])),
        fed,
    ],
)
def test_queues_of_parts_and_in_other_orders_are_not(fill):
    assert of_queues(fill) == []


def test_queues_that_take_turns_at_one_queue_of_files_are_not():
    shared = []

    def fill(tower):
        shared.extend([] if tower else [files()])
        return examples_of(shared[0])

    assert of_queues(fill) == []
