"""Terms that train nothing and losses that are clipped, beside terms that train."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses import idle_terms
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def graph_of_loss(loss):
    """A program whose `loss` gets the outputs of two layers, v(w(x)) and u(w(x)), and targets."""

    def build():
        w, v, u = (v1.get_variable(name, [4, 4], use_resource=False) for name in "wvu")
        hidden = tf.tanh(v1.placeholder(tf.float32, [8, 4], "x") @ w)
        total = loss(hidden @ v, hidden @ u, v1.placeholder(tf.float32, [8, 4], "y"))
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    return saved(traced(build), trainable_variables=["w", "v", "u"])


def found(check, loss):
    return [hazard.id for hazard in check(WholeGraph(graph_of_loss(loss)))]


def error(a, b):
    return tf.reduce_mean(tf.square(a - b))


def mean_by_size(value, like):
    """The mean of a value, whose number is taken from the sizes of another one that the graph leaves open."""
    like = v1.placeholder_with_default(like, [None, 4])
    return tf.reduce_sum(value) / tf.cast(tf.size(like), tf.float32)


def shifted(value, function):
    """The mean of log(sum(f(x - m))) + m over rows, with m their greatest values."""
    most = tf.stop_gradient(tf.reduce_max(value, 1, keepdims=True))
    return tf.reduce_mean(tf.math.log(tf.reduce_sum(function(value - most), 1)) + tf.squeeze(most, 1))


@pytest.mark.parametrize("weight, count", [(0.0, 1), (0.5, 0)])
def test_a_term_times_zero_is_named(weight, count):
    loss = lambda one, other, y: error(one, y) + weight * error(other, y)  # noqa: E731
    assert found(idle_terms.terms_of_weight_zero, loss) == ["TERM_OF_WEIGHT_ZERO"] * count


@pytest.mark.parametrize(
    "term, count",
    [
        (lambda one, other: error(tf.stop_gradient(one), 1.0), 1),
        (lambda one, other: error(tf.stop_gradient(one), tf.stop_gradient(other)), 1),
        (lambda one, other: error(tf.cast(tf.argmax(one, 1), tf.float32), 1.0), 1),
        (lambda one, other: error(tf.round(one), tf.stop_gradient(other)), 1),
        (lambda one, other: error(tf.cast(one > 0.0, tf.float32), 1.0), 1),
        (lambda one, other: mean_by_size(tf.cast(one > 0.0, tf.float32), one), 1),
        (lambda one, other: mean_by_size(tf.cast(one > 0.0, tf.float32) * other, one), 0),
        (lambda one, other: mean_by_size(tf.ones_like(tf.shape(one), tf.float32), other), 0),  # a constant
        (lambda one, other: error(tf.cast(one > 0.0, tf.float32) * other, 1.0), 0),  # a mask
        (lambda one, other: error(tf.stop_gradient(one), other), 0),
        (lambda one, other: error(one, other), 0),
        (lambda one, other: tf.stop_gradient(tf.reduce_mean(one)), 1),
        (lambda one, other: tf.reduce_mean(tf.cast(tf.cast(one, tf.int32), tf.float32)), 1),
        (lambda one, other: tf.reduce_mean(tf.reduce_logsumexp(one, axis=1)), 0),
        (lambda one, other: -tf.reduce_mean(tf.reduce_logsumexp(one + other, axis=1)), 0),
        (lambda one, other: shifted(one, tf.exp), 0),
        (lambda one, other: shifted(one, tf.square), 1),  # nothing gives back what the square takes away
        (
            lambda one, other: (lambda kept: kept + tf.stop_gradient(tf.reduce_mean(one) - kept))(tf.reduce_sum(other)),
            0,
        ),
    ],
)
def test_a_term_behind_stop_gradient_is_named(term, count):
    loss = lambda one, other, y: error(one, y) + error(other, y) + term(one, other)  # noqa: E731
    assert found(idle_terms.terms_without_gradient, loss) == ["TERM_WITHOUT_GRADIENT"] * count


@pytest.mark.parametrize(
    "bound, count",
    [
        (lambda loss: tf.clip_by_value(loss, 0.0, 5.0), 1),
        (lambda loss: tf.minimum(loss, 5.0), 1),
        (lambda loss: 0.5 * tf.minimum(loss, 5.0) + 1.0, 1),
        (lambda loss: tf.maximum(loss, 0.25), 0),
        (lambda loss: loss, 0),
    ],
)
def test_a_loss_with_a_bound_above_is_named(bound, count):
    graph = graph_of_loss(lambda one, other, y: bound(error(one, y) + error(other, y)))
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    hazards = idle_terms.clipped_losses(WholeGraph(graph, analysis), analysis)
    assert [hazard.id for hazard in hazards] == ["LOSS_CLIPPED"] * count


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda d: tf.reduce_mean(tf.square(tf.clip_by_value(d, -1.0, 1.0))), 1),
        (lambda d: tf.reduce_mean(tf.square(tf.maximum(tf.minimum(d, 1.0), -1.0))), 1),
        (lambda d: tf.nn.l2_loss(tf.clip_by_value(d, -1.0, 1.0)), 1),
        (lambda d: tf.reduce_mean(tf.square(tf.clip_by_value(d, 0.0, 1.0))), 0),
        (lambda d: tf.reduce_mean(tf.square(d) + tf.stop_gradient(tf.clip_by_value(d, -1.0, 1.0))), 0),
        (lambda d: tf.reduce_mean(tf.where(tf.abs(d) < 1.0, 0.5 * tf.square(d), tf.abs(d) - 0.5)), 0),
        (lambda d: tf.reduce_mean(tf.square(tf.clip_by_value(tf.tanh(d), -1.0, 1.0))), 0),  # no error, but a value
    ],
)
def test_errors_that_are_bounded_before_they_are_squared_are_named(loss, count):
    graph = graph_of_loss(lambda one, other, y: loss(one + other - y))
    assert [hazard.id for hazard in idle_terms.clipped_errors(WholeGraph(graph))] == ["LOSS_CLIPPED"] * count


def test_differences_that_are_bounded_one_by_one_are_no_clipped_loss():
    graph = graph_of_loss(lambda one, other, y: tf.reduce_mean(tf.minimum(tf.square(one - other - y), 1.0)))
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    assert list(idle_terms.clipped_losses(WholeGraph(graph, analysis), analysis)) == []


@pytest.mark.parametrize(
    "term, count",
    [
        (lambda one: 0.01 * tf.nn.l2_loss(tf.constant([[0.5, 0.25]])), 1),
        (lambda one: 0.01 * tf.reduce_sum(tf.square(tf.constant([0.5, 0.25]))), 1),
        (lambda one: 0.01 * tf.nn.l2_loss(one), 0),
        (lambda one: tf.constant(0.9), 0),  # as of a likelihood
        (lambda one: tf.reduce_sum(tf.constant([0.5, 0.25])), 0),
    ],
)
def test_a_penalty_of_a_constant_is_named(term, count):
    loss = lambda one, other, y: error(one, y) + term(one)  # noqa: E731
    assert found(idle_terms.terms_of_constants, loss) == ["TERM_OF_CONSTANTS"] * count


@pytest.mark.parametrize("is_exchanged, count", [(True, 1), (False, 0)])
def test_a_distillation_into_a_teacher_that_no_update_changes_is_named(is_exchanged, count):
    def build():
        x, y = v1.placeholder(tf.float32, [8, 4], "x"), v1.placeholder(tf.int32, [8], "y")
        teacher, student = (x @ v1.get_variable(name, [4, 3], use_resource=False) for name in ("teacher", "student"))
        labels, logits = (student, teacher) if is_exchanged else (teacher, student)
        labels = tf.stop_gradient(tf.nn.softmax(labels))
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        loss += tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=student))
        own = [one for one in v1.global_variables() if one.op.name == "student"]
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=own, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["teacher", "student"]))
    assert [one.id for one in idle_terms.terms_without_gradient(whole)] == ["TERM_WITHOUT_GRADIENT"] * count
