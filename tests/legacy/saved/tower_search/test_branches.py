"""Branches of one model and towers, which both have numbers."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.branches import are_branches
from legacy.saved.tower_search.search import find_towers
from tests.legacy.saved.graphs import saved, traced, two_towers

v1 = tf.compat.v1


def number_of_towers(are_shared, has_layer, on_devices=False):
    """Of a program with two parts that share their weight or not, and perhaps a layer that takes both results."""

    def build():
        x, names = v1.placeholder(tf.float32, [4, 3], "x"), ["w"] if are_shared else ["w0", "w1"]
        weights = [v1.get_variable(name, initializer=[[1.0, 2.0]] * 3, use_resource=False) for name in names]
        parts = []
        for number in range(2):
            with tf.device(f"/gpu:{number}" if on_devices else None), tf.name_scope(f"branch_{number}"):
                parts.append(tf.tanh(tf.matmul(x, weights[number % len(weights)])))
                parts[-1] = parts[-1] if has_layer else tf.reduce_mean(parts[-1])
        if has_layer:
            last = v1.get_variable("last", initializer=[[1.0]] * 4, use_resource=False)
            parts = [tf.reduce_mean(tf.matmul(tf.concat(parts, 1), last))]
        loss = tf.add_n(parts, name="loss")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, colocate_gradients_with_ops=True, name="train")

    names = [*(["w"] if are_shared else ["w0", "w1"]), *(["last"] if has_layer else [])]
    return analyse_graph(saved(traced(build), trainable_variables=names), "m").plan.towers


@pytest.mark.parametrize("on_devices", [False, True])
@pytest.mark.parametrize("are_shared, has_layer, towers", [(False, True, 1), (True, True, 2), (False, False, 2)])
def test_parts_with_weights_of_their_own_that_a_layer_joins_are_no_towers(are_shared, has_layer, on_devices, towers):
    assert number_of_towers(are_shared, has_layer, on_devices) == towers


def test_towers_are_no_branches():
    graph = traced(two_towers)
    towers = find_towers(graph, ImportedGraph(graph), ["w"], graph.inputs("train")[1:])
    assert not are_branches(graph, towers, ["w"])
