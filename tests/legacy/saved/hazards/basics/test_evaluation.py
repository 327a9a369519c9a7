"""Values of elementwise functions of given numbers."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.evaluation import evaluate
from tests.legacy.saved.graphs import saved, traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x, y: tf.square(x) * 3.0 - y, 11.0),
        (lambda x, y: tf.where(tf.greater(x, 1.0), -y, x) / 2.0, -0.5),
        (lambda x, y: tf.pow(1.0 - tf.sigmoid(0.0 * x), 2.0) + tf.stop_gradient(y), 1.25),
        (lambda x, y: tf.reduce_sum(x), None),
        (lambda x, y: tf.math.log(x - 2.0), None),
        (lambda x, y: y / (x - 2.0), None),
    ],
)
def test_a_function_of_two_numbers(function, expected):
    def build():
        x, y = (v1.placeholder(tf.float32, [4], name) for name in "xy")
        tf.identity(function(x, y), name="result")

    whole = WholeGraph(saved(traced(build), trainable_variables=[]))
    assert evaluate(whole, TensorId("result", 0), {TensorId("x", 0): 2.0, TensorId("y", 0): 1.0}) == expected


@pytest.mark.parametrize("given, expected", [(1.0, 10.0), (3.0, -3.0)])
def test_a_branch_that_numbers_choose(given, expected):
    def build():
        x = v1.placeholder(tf.float32, [], "x")
        tf.identity(v1.cond(x < 2.0, lambda: x * 10.0, lambda: -x), name="result")

    whole = WholeGraph(saved(traced(build), trainable_variables=[]))
    assert evaluate(whole, TensorId("result", 0), {TensorId("x", 0): given}) == expected


def test_a_branch_that_is_not_known_has_no_value():
    def build():
        x, other = (v1.placeholder(tf.float32, [], name) for name in ("x", "other"))
        tf.identity(v1.cond(other < 2.0, lambda: x * 10.0, lambda: -x), name="result")

    whole = WholeGraph(saved(traced(build), trainable_variables=[]))
    assert evaluate(whole, TensorId("result", 0), {TensorId("x", 0): 1.0}) is None


@pytest.mark.parametrize("given, expected", [(0.0, 1.0), (3.0, 2.0), (7.0, 3.0)])
def test_a_branch_in_a_branch_whose_last_case_is_always_true(given, expected):
    def build():
        x, values = v1.placeholder(tf.float32, [], "x"), [tf.constant(float(value)) for value in (1, 2, 3)]
        last = v1.cond(tf.constant(True), lambda: values[2], lambda: values[0])
        inner = lambda: v1.cond(x < 5.0, lambda: values[1], lambda: last)  # noqa: E731
        tf.identity(v1.cond(x < 2.0, lambda: values[0], inner), name="result")

    whole = WholeGraph(saved(traced(build), trainable_variables=[]))
    assert evaluate(whole, TensorId("result", 0), {TensorId("x", 0): given}) == expected
