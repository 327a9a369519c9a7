"""Inputs that towers share, and whose first dimension is as long as a batch by chance or since it is one."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.inputs.free_rows import has_rows_of_its_own
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def shared_rows(loss_of, *shape):
    """Whether an input of this shape, which both towers take beside four examples of their own, has rows of its own."""

    def build():
        halves = tf.split(v1.placeholder(tf.float32, [8, 6], "x"), 2)
        shared, gradients = v1.placeholder(tf.float32, shape, "shared"), []
        w = v1.get_variable("w", [6, 4], use_resource=False)
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(loss_of(halves[tower], w, shared), [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "made-for-a-test", ["train"])
    (entry,) = [one for one in found.plan.inputs if one.name == "shared"]
    return has_rows_of_its_own(found, entry)


def products(x, w, shared):
    """A matrix of products of units, as of a style, has no dimension of examples."""
    return tf.reduce_mean(tf.square(tf.matmul(x @ w, x @ w, transpose_a=True) - shared))


def template(x, w, shared):
    """A table that is added to a map of each example, which is reshaped to a constant size."""
    return tf.reduce_mean(tf.square(tf.reshape(tf.tile(x @ w, [1, 4]), [4, 4, 4]) - shared))


def nodes_of_a_graph(x, w, shared):
    """Weights between the places of each example, which are as many as the examples: a matrix times each of these."""
    return tf.reduce_mean(tf.square(tf.einsum("nm,bmf->bnf", shared, tf.reshape(tf.tile(x @ w, [1, 2]), [4, 4, 2]))))


def nodes_first(x, w, shared):
    """The same, with the places first and the examples among the features."""
    places = tf.reshape(tf.tile(x @ w, [1, 3]), [4, 4, 3])
    return tf.reduce_mean(tf.square(shared @ tf.reshape(tf.transpose(places, [1, 2, 0]), [4, -1])))


def copied_for_each(x, w, shared):
    """The same, where the matrix is copied as often as there are examples, and noise is drawn for each."""
    places = tf.expand_dims(x @ w + tf.random.normal([4, 4]), 2)
    return tf.reduce_mean(tf.square(tf.tile(shared[None], [4, 1, 1]) @ places))


def rows_mixed_by_a_constant(x, w, shared):
    """Labels of examples, which both sides mix alike."""
    return tf.reduce_mean(tf.square(tf.eye(4) @ (x @ w) - tf.reshape(shared, [4, 4])))


def labels(x, w, shared):
    return tf.reduce_mean(tf.square(x @ w - shared))


def labels_of_constant_size(x, w, shared):
    return tf.reduce_mean(tf.square(tf.reshape(x @ w, [4, 4]) - shared))


def labels_of_unknown_rows(x, w, shared):
    """The results have no known number of rows, as those of a loop, and take that of the labels."""
    rows = v1.placeholder_with_default(x @ w, [None, 4])
    return tf.reduce_mean(tf.square(rows - shared))


def weights_of_examples(x, w, shared):
    return tf.reduce_mean(shared * tf.reduce_sum(tf.square(x @ w), 1))


def without_labels(x, w, shared):
    """A second batch, which the model sees as it sees the first one."""
    return tf.reduce_mean(tf.square(x @ w)) + tf.reduce_mean(tf.abs(shared @ w))


@pytest.mark.parametrize(
    "loss_of, shape, expected",
    [
        (products, (4, 4), True),
        (template, (4, 4), True),
        (nodes_of_a_graph, (4, 4), True),
        (nodes_first, (4, 4), True),
        (copied_for_each, (4, 4), True),
        (rows_mixed_by_a_constant, (4, 4), False),
        (labels, (4, 4), False),
        (labels_of_constant_size, (4, 4), False),
        (labels_of_unknown_rows, (4, 4), False),
        (weights_of_examples, (4,), False),
        (without_labels, (4, 6), False),
    ],
)
def test_rows_are_no_examples_where_the_batch_could_have_another_size(loss_of, shape, expected):
    assert shared_rows(loss_of, *shape) is expected
