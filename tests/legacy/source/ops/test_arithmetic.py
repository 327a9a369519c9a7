"""Arithmetic as text: operators, reductions, products, choices; the text computes what the graph computes."""

import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Name, call
from legacy.source.ops import arithmetic
from tests.legacy.source.tiny import values_of, written
from workloads.numerics import gradient_sums

v1 = tf.compat.v1

X = {"x": [3]}


@pytest.mark.parametrize(
    "build, line",
    [
        (lambda x: 2.0 * x + 1.0, 'return 2.0 * batch["x"] + 1.0'),
        (lambda x: tf.reduce_mean(x), 'return tf.reduce_mean(batch["x"])'),
        (lambda x: tf.reduce_sum(x, [1]), 'return tf.reduce_sum(batch["x"], axis=1)'),
        (lambda x: tf.reduce_sum(x[0], 0, keepdims=True), 'return tf.reduce_sum(batch["x"][0], keepdims=True)'),
        (lambda x: tf.reduce_max(x, 1, keepdims=True), 'return tf.reduce_max(batch["x"], axis=1, keepdims=True)'),
        (lambda x: -tf.nn.relu(x), 'return -tf.nn.relu(batch["x"])'),
        (lambda x: tf.nn.leaky_relu(x), 'return tf.nn.leaky_relu(batch["x"], alpha=0.2)'),
        (lambda x: tf.matmul(x, x, transpose_b=True), "return tf.matmul(x, x, transpose_b=True)"),
        (lambda x: tf.cast(x > 0.5, tf.float32), 'return tf.cast(batch["x"] > 0.5, tf.float32)'),
        (lambda x: tf.argmax(x, 1), 'return tf.argmax(batch["x"], axis=1)'),
        (lambda x: tf.einsum("ij,kj->ik", x, x), 'return tf.einsum("ij,kj->ik", x, x)'),
        (lambda x: tf.where(x > 0.0, x, 0.1 * x), "return tf.where(x > 0.0, x, 0.1 * x)"),
        (lambda x: tf.add_n([x, tf.square(x)]), "return tf.add_n([x, tf.square(x)])"),
        (lambda x: tf.add_n([x, -x, tf.square(x)]), "return tf.add_n([x, -x, tf.square(x)])"),
    ],
)
def test_the_text_reads_as_one_would_write_it_and_computes_the_same(build, line):
    lines = written(build, X)
    assert lines[-1] == line
    x = np.random.RandomState(0).rand(4, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


@pytest.mark.parametrize(
    "build, line",
    [
        (lambda x: tf.raw_ops.MatrixDiag(diagonal=x), 'return tf.linalg.diag(batch["x"])'),
        (lambda x: tf.raw_ops.Diag(diagonal=x), 'return tf.linalg.tensor_diag(batch["x"])'),
        (lambda x: tf.raw_ops.MatrixDiagPart(input=x[:, tf.newaxis] * x), None),
        (lambda x: tf.raw_ops.DiagPart(input=tf.matmul(x, x, transpose_b=True)), None),
    ],
)
def test_diagonals_of_1x_are_those_of_linalg(build, line):
    lines = written(build, X)
    assert lines[-1] == (line or lines[-1]) and "raw_ops" not in "".join(lines)
    x = np.random.RandomState(0).rand(3, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


def test_a_constant_array_of_one_number_is_that_number_in_a_choice():
    build = lambda x: tf.where(tf.reduce_sum(x, 0) > 2.0, tf.zeros([3]), tf.reduce_sum(x, 0))  # noqa: E731
    lines = written(build, X)
    assert "2.0, 0.0, " in lines[-1]
    x = np.random.RandomState(0).rand(4, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


def penalized(x, v, w):
    """1 and two penalties, each half a unit in its last place; a gradient has at most two parts."""
    return tf.add_n([tf.reduce_sum(x), tf.nn.l2_loss(v), tf.nn.l2_loss(w)])


def test_three_terms_are_added_in_their_order():
    lines = written(penalized, X, {"v": [1], "w": [1]})
    assert lines[-1].startswith("return sum([tf.reduce_sum(")
    half = np.full(1, 2.0**-11.5, np.float32)
    assert values_of(lines, {"x": np.array([[1, 0, 0]], np.float32), "v": half, "w": half}) == 1.0


def tied(x, w):
    """A loss whose weight has gradients of three parts, which are added in the order of their distance from it."""
    return tf.add_n([tf.reduce_sum(x * w), tf.nn.l2_loss(w), tf.reduce_sum(tf.tanh(w))])


def test_a_loss_whose_gradients_have_three_parts_is_added_in_order_by_one_op():
    assert written(tied, X, {"w": [3]})[-1].startswith("return add_in_order([")


def test_a_sum_of_rows_of_features_stays_one_op_of_tensorflow():
    lines = written(lambda x, w: tf.add_n([x * w, tf.tanh(w) + x, x * w * w]), X, {"w": [3]})
    assert lines[-1].startswith("return tf.add_n([")


def added(terms):
    space = {"tf": tf}
    exec("\n".join(arithmetic.OLD_FUNCTIONS["add_in_order"]), space)
    return space["add_in_order"](terms)


@pytest.mark.parametrize("shape", [(), (4,)])
def test_more_than_eight_terms_of_a_loss_are_added_in_order(shape):
    rng = np.random.RandomState(0)
    for _ in range(8):
        terms = rng.randn(11, *shape).astype(np.float32)
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        assert np.array_equal(added(list(terms)), total)


@pytest.mark.parametrize("add, equal", [(added, True), (sum, False)])
def test_gradients_reach_the_terms_of_a_loss_as_those_of_one_op(add, equal):
    """A chain of additions hands its gradient on to the last term first, so that three parts have another sum."""

    def gradient(add):
        with tf.Graph().as_default(), v1.Session() as session, gradient_sums.added_in_order():
            w = tf.constant(np.linspace(0.1, 3, 64).astype(np.float32))
            parts = [tf.reduce_sum(1.7 * tf.exp(w)), tf.reduce_sum(tf.sin(w)), tf.reduce_sum(tf.sqrt(w) / 3.1)]
            return session.run(tf.gradients(add(parts), w)[0])

    assert np.array_equal(gradient(add), gradient(tf.add_n)) == equal


def test_a_choice_of_rows_by_a_vector_is_widened():
    def build(x):
        return tf.compat.v1.where(x[:, 0] > 0.5, x, -x)

    lines = written(build, X)
    x = np.random.RandomState(0).rand(4, 3).astype(np.float32)
    assert "tf.reshape" in lines[-1]
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


@pytest.mark.parametrize(
    "condition, taken, function",
    [
        (None, None, "tf.compat.v1.where"),  # may be a vector and rows, as where lengths freeze a state in a loop
        (None, [None, 3], "tf.compat.v1.where"),
        ([None], None, "tf.compat.v1.where"),
        ([None, 3], [None, 3], "tf.where"),
    ],
)
def test_a_choice_of_unknown_ranks_stays_the_old_one_that_takes_a_vector(condition, taken, function):
    op = types.SimpleNamespace(
        type="Select",
        shape=lambda position: taken if position else condition,
        arguments=lambda first=0: [Name("c"), Name("a"), Name("b")][first:],
        argument=lambda position: Name("cab"[position]),
        constant=lambda position: None,
    )
    assert arithmetic.write_choice(op) == call(function, Name("c"), Name("a"), Name("b"))


def test_a_function_of_the_number_of_examples_gets_a_float():
    def build(x):
        return x * tf.raw_ops.Reciprocal(x=tf.cast(2 * tf.shape(x)[0], tf.float32))

    lines = written(build, X)
    assert "tf.math.reciprocal(float(2 * batch_size))" in "\n".join(lines)
    x = np.random.RandomState(0).rand(4, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


def test_every_writer_is_of_an_op_that_exists():
    assert all(hasattr(tf.raw_ops, name) for name in arithmetic.WRITERS)
