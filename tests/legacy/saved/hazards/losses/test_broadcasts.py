"""Losses in which a vector meets a column, or a scalar a list of terms, each with a twin that means it."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.broadcasts import (
    columns_against_vectors,
    scalars_added_to_lists,
    scalars_added_to_losses,
)
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def found(make_loss):
    """The hazards of a program that minimizes a loss of predictions [n, 1], labels [n] and features [n, 4]."""

    def build():
        x = v1.placeholder(tf.float32, [None, 4], "x")
        y = v1.placeholder(tf.float32, [None], "y")
        w = v1.get_variable("w", [4, 1], use_resource=False)
        loss = make_loss(tf.matmul(x, w), y, x)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small")
    return list(columns_against_vectors(WholeGraph(graph, analysis), analysis))


def test_labels_that_are_a_vector_and_predictions_that_are_a_column_are_named():
    (hazard,) = found(lambda p, y, x: tf.reduce_mean(tf.square(tf.subtract(y, p, "gap"))))
    assert hazard[:2] == ("BROADCAST_TO_MATRIX", "gap") and "takes y, a vector, and MatMul, a column: " in hazard[2]


@pytest.mark.parametrize(
    "make_loss, count",
    [
        (lambda p, y, x: tf.reduce_mean(tf.nn.softplus(p) + tf.square(y)), 0),
        (lambda p, y, x: tf.reduce_mean(p - y), 0),
        (lambda p, y, x: tf.reduce_sum(tf.nn.softplus(p) + tf.square(y)), 1),  # each as often as there are examples
        (lambda p, y, x: tf.reduce_mean(tf.reduce_max(tf.nn.softplus(p) + tf.square(y), 0)), 1),
        (lambda p, y, x: tf.reduce_mean(tf.nn.softplus(p) * tf.square(y)), 1),
    ],
)
def test_the_mean_of_all_sums_is_that_of_sums_of_an_example(make_loss, count):
    assert len(found(make_loss)) == count


def test_several_are_one_hazard():
    (hazard,) = found(lambda p, y, x: tf.reduce_mean(tf.square(y * p - y * tf.reshape(x[:, 0], [-1, 1]))))
    assert "a column, as in 1 other op: " in hazard.description


@pytest.mark.parametrize(
    "make_loss",
    [
        lambda p, y, x: tf.reduce_mean(tf.square(y - tf.squeeze(p, 1))),
        lambda p, y, x: tf.reduce_mean(tf.square(y[:, tf.newaxis] - p)),
        lambda p, y, x: tf.reduce_mean(tf.nn.relu(1.0 - (p - tf.squeeze(p, 1)))),  # all pairs of one tensor
        lambda p, y, x: tf.reduce_mean(p * tf.cast(tf.range(tf.shape(x)[0]), tf.float32)),  # sizes, no examples
        lambda p, y, x: tf.reduce_mean(p * tf.constant([1.0, 2.0, 3.0])),
        lambda p, y, x: tf.reduce_mean(p * tf.reduce_sum(y)),
    ],
)
def test_other_losses_are_not(make_loss):
    assert found(make_loss) == []


def squares(x):
    return tf.reduce_sum(tf.square(x), 1)


@pytest.mark.parametrize(
    "make_loss, count",
    [
        (lambda a, b, y: squares(a)[:, None] + squares(b) - 2.0 * tf.matmul(a, b, transpose_b=True), 0),
        (lambda a, b, y: tf.matmul(a, b, transpose_b=True) + (a[:, :1] + b[:, 0]), 0),  # two biases of all pairs
        (lambda a, b, y: tf.nn.relu(1.0 - (tf.expand_dims(a[:, 0], 1) - b[:, 0])), 0),  # of positive and negative ones
        (lambda a, b, y: tf.matmul(a, b, transpose_b=True) * (a[:, :1] + b[:, 0]), 1),
        (lambda a, b, y: tf.nn.relu(1.0 - (a[:, :1] - b[:, 0])), 1),
        (lambda a, b, y: tf.square(y[:, None] - a[:, 0]), 1),
    ],
)
def test_pairs_of_the_results_of_two_batches_are_meant(make_loss, count):
    def loss():
        w = minimized.variable("w", 4, 3)
        a, b = (minimized.fed(name, 8, 4) @ w for name in ("one", "other"))
        return tf.reduce_mean(make_loss(a, b, minimized.fed("y", 8)))

    assert minimized.found_by_analysis(columns_against_vectors, loss) == ["BROADCAST_TO_MATRIX"] * count


def test_ops_of_a_branch_that_the_analysis_left_out_are_not_looked_at():
    """Such as dropout of a program that trains as in evaluation."""

    def loss(p, y, x):
        training = v1.placeholder_with_default(False, [], "is_training")
        return tf.reduce_mean(tf.square(v1.cond(training, lambda: p * tf.ones([3, 1]), lambda: p) - y[:, tf.newaxis]))

    def build():
        v1.disable_control_flow_v2()
        x, y = v1.placeholder(tf.float32, [3, 4], "x"), v1.placeholder(tf.float32, [3], "y")
        w = v1.get_variable("w", [4, 1], use_resource=False)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss(tf.matmul(x, w), y, x), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", feed={"is_training": "false"})
    assert set(WholeGraph(graph, analysis).minimized_ops("Mul")) - set(analysis.context.graph.nodes)
    assert list(columns_against_vectors(WholeGraph(graph, analysis), analysis)) == []


def with_list(join, count=2):
    """What is found in a loss that `join` makes of a mean over examples and a list of penalties."""

    def loss():
        weights = [minimized.variable(name, 4, 4) for name in "uvw"[:count]]
        x = minimized.fed("x", 8, 4)
        for weight in weights:
            x = x @ weight
        return join(tf.reduce_mean(tf.square(x)), [0.5 * tf.nn.l2_loss(weight) for weight in weights])

    return minimized.found_by_analysis(scalars_added_to_lists, loss)


def test_a_scalar_that_is_added_to_a_list_of_terms_counts_for_each():
    assert with_list(lambda mean, terms: mean + terms) == ["TERM_REPEATED"]
    assert with_list(lambda mean, terms: tf.identity(mean + terms), 3) == ["TERM_REPEATED"]


@pytest.mark.parametrize(
    "join",
    [
        lambda mean, terms: mean + tf.add_n(terms),
        lambda mean, terms: tf.reduce_mean(mean + terms),  # of which the scalar is one part, and the list is divided
        lambda mean, terms: tf.stack([mean, *terms]),
    ],
)
def test_terms_that_are_added_first_are_not(join):
    assert with_list(join) == []


def test_a_list_of_one_term_is_not():
    assert with_list(lambda mean, terms: mean + terms, 1) == []


def with_penalty(join):
    """What is found in a loss that `join` makes of the losses of 8 examples [8, 4] and a penalty."""

    def loss():
        w = minimized.variable("w", 4, 4)
        return join(tf.square(minimized.fed("x", 8, 4) @ w), 0.1 * tf.nn.l2_loss(w))

    return minimized.found_by_analysis(scalars_added_to_losses, loss)


@pytest.mark.parametrize(
    "join, count",
    [
        (lambda losses, penalty: losses + penalty, 1),
        (lambda losses, penalty: penalty + tf.reduce_mean(losses, 1), 1),
        (lambda losses, penalty: losses + tf.reduce_mean(losses), 1),  # of data, as a penalty on confidence
        (lambda losses, penalty: tf.reduce_mean(losses) + penalty, 0),
        (lambda losses, penalty: tf.reduce_mean(losses + penalty), 0),
        (lambda losses, penalty: tf.reshape(tf.reduce_mean(losses), [1]) + penalty, 0),
        (lambda losses, penalty: losses + 1.0, 0),
    ],
)
def test_a_scalar_that_is_added_to_the_losses_of_examples_counts_for_each(join, count):
    assert with_penalty(join) == ["TERM_REPEATED"] * count
