"""Datasets behind iterators, and the number of examples that they join."""

import pytest
import tensorflow as tf

from legacy.saved.facts.inputs.datasets import dataset_nodes, datasets_before, rows_of_batches
from legacy.saved.facts.inputs.tower_batch import batch_of_tower, examples_of_tower, usual_batch
from tests.legacy.saved.facts.tower_pages import analysed_step, program, squares
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1
MAKERS = (v1.data.make_one_shot_iterator, v1.data.make_initializable_iterator)


def examples():
    return v1.data.Dataset.from_tensor_slices(tf.zeros([20, 3]))


def rows(make, dataset):
    names = []
    graph = traced(lambda: names.append(make(dataset()).get_next().op.inputs[0].op.name))
    return rows_of_batches(graph, graph.inputs(names[0])[0].node if graph.type(names[0]) == "Identity" else names[0])


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "dataset, number",
    [
        (lambda: examples().batch(6), 6),
        (lambda: examples().shuffle(9).batch(6, drop_remainder=True).repeat().prefetch(2), 6),
        (lambda: examples().padded_batch(4, [3]).repeat(), 4),
        (lambda: examples().batch(6).map(lambda x: x[:2]), None),  # may be other rows
        (lambda: examples(), None),
    ],
)
def test_the_number_is_that_of_the_last_joining(make, dataset, number):
    assert rows(make, dataset) == number


def test_the_nodes_of_a_dataset_from_the_last_to_the_first():
    names = []
    graph = traced(lambda: names.append(MAKERS[0](examples().batch(6).repeat()).get_next().op.inputs[0].op.name))
    nodes = dataset_nodes(graph, names[0])
    (last,) = [node for node in nodes.values() if node.op == "RepeatDataset"]
    assert [nodes[name].op for name in datasets_before(nodes, last)] == [
        "BatchDatasetV2",
        "TensorSliceDataset",
        "Const",
    ]


def step(take, batch=6):
    return analysed_step(lambda: program(take(lambda: MAKERS[0](examples().batch(batch).repeat()).get_next()))())


def own(element):
    parts = [element(), element()]
    return lambda tower: squares(parts[tower])


def split(element):
    parts = tf.split(element(), 2)
    return lambda tower: squares(parts[tower])


@pytest.mark.parametrize("take, batch, number", [(own, 6, 6), (split, 6, 3), (split, 5, None)])
def test_a_towers_examples_by_its_dataset(take, batch, number):
    analysed = step(take, batch)
    assert examples_of_tower(analysed) == usual_batch(analysed) == number
    text = "its inputs take any"
    assert batch_of_tower(analysed) == (f"{number}, by the old graph's dataset; {text}" if number else text)
