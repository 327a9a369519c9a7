"""Calls of functions in a graph's library: sources have their bodies, and the proof judges gradients of their own."""

import pytest
import tensorflow as tf
from tensorflow.python.framework import function

from legacy.source.basics.calls import with_bodies
from legacy.source.basics.unwritten import Unwritten
from tests.legacy.source.conditional import with_old_cond
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import BATCH, lifted, mean_of, split_batch, towers, weights
from workloads.support.errors import InputError

v1 = tf.compat.v1
PROVEN = "loss, gradients and statistics of each tower have the old graph's bits on made-up numbers"


def with_factor(factor):
    """A function that hands its input on, and `factor` times its gradient, as a dense tensor."""
    return function.Defun(
        tf.float32,
        func_name=f"times_{abs(factor)}".replace(".", "_"),
        python_grad_func=lambda op, gradient: factor * tf.convert_to_tensor(gradient),
        shape_func=lambda op: [op.inputs[0].get_shape()],
    )(lambda x: x)


def trained(loss_of):
    """A program that trains the weights by `loss_of(x, weights)`."""

    def build():
        xs = split_batch()
        return mean_of(towers(lambda tower: tf.gradients(loss_of(xs[tower], weights()), [weights()])[0]))

    return build


def twice_and_half(x):
    return 2.0 * x, 0.5 * x


def tower_with_calls(x, w):
    inner = tf.function(twice_and_half, autograph=False)
    outer = tf.function(lambda x: inner(tf.tanh(x))[1] * inner(x)[0], autograph=False)
    _, last = v1.while_loop(lambda turn, state: turn < 3, lambda turn, state: (turn + 1, outer(state)), [0, x])
    return tf.reduce_mean(tf.matmul(last, w) ** 2)


def test_a_dense_gradient_of_rows_by_a_function_is_written(tmp_path):
    dense = with_factor(1.0)

    def loss(x, w):
        return tf.reduce_mean(tf.matmul(x, w)) * tf.reduce_mean(tf.gather(dense(w), [0, 2, 0]) ** 2)

    made = source_of(lifted(trained(loss), tmp_path))
    assert PROVEN in made.notes
    assert "times_" not in made.text


def test_a_function_with_another_gradient_is_refused(tmp_path):
    reversed_gradient = with_factor(-0.5)
    setup = lifted(trained(lambda x, w: tf.reduce_mean(tf.matmul(x, reversed_gradient(w)) ** 2)), tmp_path)
    with pytest.raises(InputError, match="contain what the towers' losses do not: net/w"):
        source_of(setup)


def test_functions_in_functions_and_loops_are_written(tmp_path):
    made = source_of(lifted(with_old_cond(trained(tower_with_calls)), tmp_path))
    assert PROVEN in made.notes
    assert "Partitioned" not in made.text


def test_a_function_that_draws_random_numbers_is_refused_by_name():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [BATCH])
        tf.function(lambda x: x * tf.random.uniform([BATCH], seed=1), autograph=False)(x)
    with pytest.raises(Unwritten, match="function '.*', which '.*' calls, has state or random numbers"):
        with_bodies(graph.as_graph_def())
