"""Ops that old gradients differentiate by another formula than today's: what is written has the old derivative."""

import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.old_derivatives import OLD_DERIVATIVE, WAITED_FOR, with_old_derivatives, with_waits
from legacy.source.ops.arithmetic import OLD_FUNCTIONS
from legacy.source.ops.neural import FUNCTIONS
from tests.legacy.saved.graphs import graph_of
from tests.legacy.source import tiny

v1 = tf.compat.v1
#: A softplus and the gradient that TensorFlow 1.4 makes of it; its derivative has the name that is asked for.
SOFTPLUS = """
    x = Placeholder()
    h = Softplus(x)
    loss = Mean(h)
    gradients/Fill = Const()
    gradients/loss_grad/truediv = RealDiv(gradients/Fill)
    """


@pytest.mark.parametrize(
    "derivative, is_old",
    [
        ("gradients/h_grad/SoftplusGrad = SoftplusGrad(gradients/loss_grad/truediv, x)", True),
        ("gradients/h_grad/mul = Mul(gradients/loss_grad/truediv, x)", False),
        ("other = SoftplusGrad(gradients/loss_grad/truediv, x)", False),
    ],
)
def test_an_op_is_marked_if_the_old_derivative_is_computed_of_it(derivative, is_old):
    used = f"\n update = ApplyGradientDescent({derivative.split(' = ')[0]})"
    old = graph_of(SOFTPLUS + derivative + used)
    graph = with_old_derivatives(old)
    assert (OLD_DERIVATIVE in graph.nodes["h"].attr) == is_old and (graph is old) != is_old
    assert not any(OLD_DERIVATIVE in node.attr for name, node in graph.nodes.items() if name != "h")


#: Rows of a softmax whose size is computed of what is reshaped, as TensorFlow 0.12 makes them.
ROWS = """
    x = Placeholder()
    y = Placeholder()
    shape = Shape({of})
    size = Slice(shape)
    sizes = Concat(size)
    h = Reshape(x, sizes)
    known = Const()
    other = Reshape(x, known)
    loss = Mean(h, other)
    """


@pytest.mark.parametrize(
    "of, release, waits",
    [("x", "0.12.1", True), ("x", "1.4.0", True), ("x", "1.15.5", False), ("x", "None", False), ("y", "0.12.1", False)],
)
def test_a_reshape_to_sizes_that_are_computed_of_what_it_takes_is_marked_where_gradients_waited(of, release, waits):
    old = graph_of(ROWS.format(of=of))
    graph = with_waits(types.SimpleNamespace(about={"written by TensorFlow": release}), old)
    assert [name for name, node in graph.nodes.items() if WAITED_FOR in node.attr] == (["h"] if waits else [])
    assert (graph is old) != waits


#: A quotient, and the gradients that TensorFlow 0.12 makes of it, by its divisor too.
QUOTIENT = """
    x = Placeholder()
    y = Placeholder()
    h = Div(x, y)
    loss = Mean(h)
    gradients/Fill = Const()
    gradients/loss_grad/div = Div(gradients/Fill)
    gradients/h_grad/Neg = Neg(x)
    gradients/h_grad/Square = {square}(y)
    gradients/h_grad/Div_1 = Div(gradients/h_grad/Neg, gradients/h_grad/Square)
    gradients/h_grad/mul = Mul(gradients/loss_grad/div, gradients/h_grad/Div_1)
    update = ApplyGradientDescent({gradient})
    """


@pytest.mark.parametrize(
    "square, gradient, is_old",
    [("Square", "gradients/h_grad/mul", True), ("Neg", "gradients/h_grad/mul", False), ("Square", "x", False)],
)
def test_a_quotient_is_marked_if_something_takes_the_old_derivative_by_its_divisor(square, gradient, is_old):
    graph = with_old_derivatives(graph_of(QUOTIENT.format(square=square, gradient=gradient)))
    assert (OLD_DERIVATIVE in graph.nodes["h"].attr) == is_old


def old_quotient(x, y):
    h = tf.raw_ops.Div(x=x, y=y)
    h.op._set_attr(OLD_DERIVATIVE, v1.AttrValue(b=True))
    return h


def test_a_marked_quotient_is_a_function_with_the_derivative_of_its_time():
    assert tiny.written(lambda x: old_quotient(x, tf.square(x)), {"x": [3]})[-1] == "return divide(x, tf.square(x))"
    assert tiny.written(lambda x: tf.raw_ops.Div(x=x, y=tf.square(x)), {"x": [3]})[-1] == "return x / tf.square(x)"
    space = {"tf": tf}
    exec("\n".join(OLD_FUNCTIONS["divide"]), space)
    rng = np.random.RandomState(0)
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = tf.constant(rng.rand(50, 7), tf.float32), tf.constant(rng.rand(7), tf.float32)
        gradients = tf.gradients(space["divide"](x, y), [x, y])
        today = tf.gradients(x / y, [x, y])
        old = [tf.ones([50, 7]) / y, tf.reduce_sum(-x / tf.square(y), 0)]
        (of_x, of_y), (old_x, old_y), (_, today_y) = session.run([gradients, old, today])
        assert np.array_equal(*session.run([space["divide"](x, y), x / y]))
    assert np.array_equal(of_x, old_x) and np.array_equal(of_y, old_y) and not np.array_equal(today_y, old_y)


def test_a_marked_softplus_is_a_function_with_the_derivative_of_its_time():
    def marked(x):
        h = tf.nn.softplus(x)
        h.op._set_attr(OLD_DERIVATIVE, v1.AttrValue(b=True))
        return h

    assert tiny.written(marked, {"x": [3]}) == ['return softplus(batch["x"])']
    assert tiny.written(lambda x: tf.nn.softplus(x), {"x": [3]}) == ['return tf.nn.softplus(batch["x"])']
    space = {"tf": tf}
    exec("\n".join(FUNCTIONS["softplus"]), space)
    x = np.random.RandomState(0).randn(500).astype(np.float32)
    with tf.Graph().as_default(), v1.Session() as session:
        value = tf.constant(x)
        h = space["softplus"](value)
        new, old, today = session.run(
            [
                tf.gradients(h, value)[0],
                tf.raw_ops.SoftplusGrad(gradients=tf.ones(500), features=value),
                tf.gradients(tf.nn.softplus(value), value)[0],
            ]
        )
        assert np.array_equal(session.run(h), session.run(tf.nn.softplus(value)))
    assert np.array_equal(new, old) and not np.array_equal(today, old)
