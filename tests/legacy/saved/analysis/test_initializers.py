"""Initializers that a graph's own initialization ops show."""

import doctest

import pytest
import tensorflow as tf

from legacy.saved.analysis import initializers
from legacy.saved.analysis.initializers import find_initializer
from workloads.lifted.graph import Graph

v1 = tf.compat.v1


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize(
    "initializer, text",
    [
        (v1.zeros_initializer(), "constant 0.0"),
        (v1.constant_initializer(0.1), "constant 0.1"),
        (v1.truncated_normal_initializer(stddev=0.3), "truncated_normal 0.3"),
        (v1.glorot_uniform_initializer(), "glorot_uniform"),
        (v1.random_normal_initializer(), "normal 1.0 0.0"),
        (v1.random_normal_initializer(mean=1.0, stddev=0.25), "normal 0.25 1.0"),
        (v1.random_uniform_initializer(-0.5, 0.5), "uniform -0.5 0.5"),
        (v1.truncated_normal_initializer(mean=1.0), "None"),
        (v1.orthogonal_initializer(), "orthogonal 1.0"),
        (v1.orthogonal_initializer(gain=0.5), "orthogonal 0.5"),
    ],
)
def test_what_is_known_is_named_with_its_number(initializer, text, resource):
    with tf.Graph().as_default() as graph:
        v1.get_variable("net/w", [3, 4], initializer=initializer, use_resource=resource)
    assert str(find_initializer(Graph(graph.as_graph_def()), "net/w", [3, 4])) == text


def test_factors_without_the_signs_or_of_another_matrix_are_not_orthogonal():
    def made(signed, drawn):
        factor, triangle = tf.linalg.qr(drawn)
        factor = factor * tf.sign(tf.linalg.diag_part(triangle)) if signed else factor * 1.0
        return tf.constant(1.0) * tf.reshape(factor, [4, 3])

    found = []
    for signed, drawn in ((True, v1.random_normal), (False, v1.random_normal), (True, v1.random_uniform)):
        with tf.Graph().as_default() as graph:
            v1.get_variable("w", initializer=made(signed, drawn([4, 3])), use_resource=False)
        found.append(str(find_initializer(Graph(graph.as_graph_def()), "w", [4, 3])))
    assert found == ["orthogonal 1.0", "None", "None"]


@pytest.mark.parametrize(
    "made, text",
    [
        (lambda: v1.random_normal([8, 4]) * (1.0 / tf.sqrt(8 / 2.0)), "normal 0.5 0.0"),
        (lambda: v1.random_normal([8, 4]) / tf.sqrt(tf.cast(4, tf.float32)), "normal 0.5 0.0"),
        (lambda: tf.sqrt(2.0 / tf.constant(8.0)) * v1.truncated_normal([8, 4]), "truncated_normal 0.5"),
        (lambda: v1.random_normal([8, 4], stddev=tf.math.rsqrt(tf.constant(4.0))), "normal 0.5 0.0"),
        (lambda: v1.random_uniform([8, 4], -1.0, 1.0) * tf.constant(0.25), "uniform -0.25 0.25"),
        (lambda: v1.random_uniform([8, 4], -1.0, 1.0) * tf.sqrt(tf.constant(0.5)), "glorot_uniform"),
        (lambda: v1.random_normal([8, 4]) * tf.fill([8, 1], 0.5), "None"),
        (lambda: v1.random_normal([8, 4]) * tf.abs(v1.random_normal([])), "None"),
        (lambda: tf.constant(0.5) / v1.random_normal([8, 4]), "None"),
        (lambda: v1.random_normal([8, 4]) * tf.constant(-0.5), "None"),
    ],
)
def test_a_scale_may_be_computed_by_ops(made, text):
    with tf.Graph().as_default() as graph:
        v1.get_variable("w", initializer=made(), use_resource=False)
    assert str(find_initializer(Graph(graph.as_graph_def()), "w", [8, 4])) == text


def test_a_name_without_a_variable_has_none():
    assert find_initializer(Graph(tf.Graph().as_graph_def()), "w", []) is None


def test_the_docstrings_examples_hold():
    assert doctest.testmod(initializers).failed == 0
