"""Elements of datasets, computed by the ops of the functions that map them."""

import pytest
import tensorflow as tf

from legacy.saved.facts.inputs.mapped_elements import mapped_element, with_maps
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def before_loss(prepare, one_shot=False, kinds=("Cosh",)):
    """The op types that the second component of a dataset's elements is computed by."""

    def build():
        images, labels = tf.ones([6, 3]), tf.ones([6])
        data = prepare(tf.data.Dataset.from_tensor_slices((images, labels))).batch(2).prefetch(1)
        make = v1.data.make_one_shot_iterator if one_shot else v1.data.make_initializable_iterator
        image, label = make(data).get_next()
        tf.identity(tf.reduce_sum(image) * label, "loss")

    graph = traced(build)
    [taker] = graph.of_type_prefix("IteratorGetNext")
    mapped = with_maps(graph, kinds)
    [use] = [use for use in graph.users(taker) if use.output == 1]
    tensor = mapped_element(graph, mapped, graph.inputs(use.node)[use.position])
    return {mapped.type(name) for name in mapped.ancestors([tensor.node])}


@pytest.mark.parametrize("one_shot", [False, True])
def test_a_map_makes_the_component_that_it_returns(one_shot):
    kinds = before_loss(lambda data: data.map(lambda x, y: (tf.sin(x), tf.cosh(y))).shuffle(4), one_shot)
    assert "Cosh" in kinds and not {"Sin", "IteratorGetNext"} & kinds


def test_maps_follow_each_other():
    kinds = before_loss(
        lambda data: data.map(lambda x, y: (tf.cosh(y), tf.sin(x))).map(lambda x, y: (y, tf.tan(x))).repeat()
    )
    assert {"Tan", "Cosh"} <= kinds and "Sin" not in kinds


def test_both_branches_of_a_condition_are_joined():
    def map_one(x, y):
        return x, tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.cosh(y), lambda: tf.tan(y))

    kinds = before_loss(lambda data: data.map(map_one))
    assert {"Cosh", "Tan", "Merge"} <= kinds


def test_elements_that_no_function_makes_stay():
    kinds = before_loss(lambda data: data.map(lambda x, y: (tf.cosh(x), y)))
    assert "Cosh" not in kinds
    assert "IteratorGetNext" in before_loss(lambda data: data.map(lambda x, y: (x, tf.cosh(y))), kinds=("Sin",))
    assert "IteratorGetNext" in before_loss(lambda data: data.map(lambda x, y: (x, tf.cosh(y))).concatenate(data))
