"""Formulas of update rules, against the rules' own kernels."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.values.rule_values import has_formula, value_by_rule
from legacy.towers.program import session_config
from workloads.lifted.graph import Graph

v1 = tf.compat.v1
RULES = {
    "gradient descent": lambda: v1.train.GradientDescentOptimizer(0.3),
    "momentum": lambda: v1.train.MomentumOptimizer(0.3, 0.9),
    "Adam": lambda: v1.train.AdamOptimizer(0.3, 0.5),
    "RMSProp": lambda: v1.train.RMSPropOptimizer(0.3, 0.8, 0.9),
}
OTHERS = {
    "Nesterov": lambda: v1.train.MomentumOptimizer(0.3, 0.9, use_nesterov=True),
    "Adagrad": lambda: v1.train.AdagradOptimizer(0.3),
    "centered RMSProp": lambda: v1.train.RMSPropOptimizer(0.3, centered=True),
}


def updated(make_optimizer, use_resource, sparse=False):
    """(graph in TensorFlow, a read of its weight, its update op) of a gradient from a placeholder, initializer last."""
    with tf.Graph().as_default() as graph:
        weight = v1.get_variable("w", initializer=tf.linspace(-1.0, 2.0, 7), use_resource=use_resource)
        gradient = v1.placeholder(tf.float32, [7], name="g")
        if sparse:
            gradient = tf.IndexedSlices(gradient, tf.range(7), [7])
        make_optimizer().apply_gradients([(gradient, weight)])
        (change,) = [op.name for op in graph.get_operations() if "Apply" in op.type or "Scatter" in op.type]
        read = tf.identity(weight.read_value()).name
        v1.global_variables_initializer()
    return graph, read, change


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_a_formula_gives_the_bits_of_the_kernel(rule, use_resource):
    graph, weight, change = updated(RULES[rule], use_resource)
    graph_def = graph.as_graph_def()
    assert has_formula(Graph(graph_def), change)
    made = value_by_rule(Graph(graph_def), change)
    initializer = graph.get_operations()[-1].name
    graph_def.node.extend(made)
    with tf.Graph().as_default(), v1.Session(config=session_config(["CPU:0"], True)) as session:
        ends = [f"{made[-1].name}:0", weight, change, initializer]
        value, weight, change, initialize = tf.import_graph_def(graph_def, return_elements=ends, name="")
        session.run(initialize)
        for seed in range(3):  # the slots have other values each time
            given = {"g:0": np.random.RandomState(seed).randn(7)}
            found = session.run(value, given)
            before = session.run(weight)
            session.run(change, given)
            after = session.run(weight)
            np.testing.assert_array_equal(found, after)
            assert np.all(before != after)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("rule", OTHERS)
def test_other_rules_have_none(rule, use_resource):
    graph, _, change = updated(OTHERS[rule], use_resource)
    assert not has_formula(Graph(graph.as_graph_def()), change)


def test_rules_of_rows_have_none():
    graph, _, change = updated(RULES["momentum"], False, sparse=True)
    assert not has_formula(Graph(graph.as_graph_def()), change)
