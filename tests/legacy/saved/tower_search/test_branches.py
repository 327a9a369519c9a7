"""Branches of one model and towers, which both have numbers."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.branches import are_branches
from legacy.saved.tower_search.search import find_towers
from tests.legacy.saved.graphs import saved, traced, two_towers

v1 = tf.compat.v1


def number_of_towers(are_shared, has_layer, on_devices=False, scope="branch"):
    """Of a program with two parts that share their weight or not, and perhaps a layer that takes both results."""

    def build():
        x, names = v1.placeholder(tf.float32, [4, 3], "x"), ["w"] if are_shared else ["w0", "w1"]
        weights = [v1.get_variable(name, initializer=[[1.0, 2.0]] * 3, use_resource=False) for name in names]
        parts = []
        for number in range(2):
            with tf.device(f"/gpu:{number}" if on_devices else None), tf.name_scope(f"{scope}_{number}"):
                parts.append(tf.tanh(tf.matmul(x, weights[number % len(weights)])))
                parts[-1] = parts[-1] if has_layer else tf.reduce_mean(parts[-1])
        if has_layer:
            last = v1.get_variable("last", initializer=[[1.0]] * 4, use_resource=False)
            parts = [tf.reduce_mean(tf.matmul(tf.concat(parts, 1), last))]
        loss = tf.add_n(parts, name="loss")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, colocate_gradients_with_ops=True, name="train")

    names = [*(["w"] if are_shared else ["w0", "w1"]), *(["last"] if has_layer else [])]
    return analyse_graph(saved(traced(build), trainable_variables=names), "m").plan.towers


@pytest.mark.parametrize("are_shared, has_layer, towers", [(False, True, 1), (True, True, 2), (False, False, 2)])
@pytest.mark.parametrize("on_devices, scope", [(True, "branch"), (False, "tower")])
def test_parts_with_weights_of_their_own_that_a_layer_joins_are_no_towers(
    are_shared, has_layer, towers, on_devices, scope
):
    assert number_of_towers(are_shared, has_layer, on_devices, scope) == towers


@pytest.mark.parametrize("are_shared, has_layer", [(False, True), (True, True), (False, False), (True, False)])
def test_parts_of_one_loss_that_stand_on_no_devices_and_are_not_called_towers_are_none(are_shared, has_layer):
    assert number_of_towers(are_shared, has_layer) == 1


@pytest.mark.parametrize("are_shared, towers", [(True, 2), (False, 1)])
def test_parts_that_differentiate_losses_of_their_own_are_towers_if_they_share_weights(are_shared, towers):
    def build():
        x, names = v1.placeholder(tf.float32, [4, 3], "x"), ["w", "w"] if are_shared else ["w0", "w1"]
        optimizer, pairs = v1.train.GradientDescentOptimizer(0.5), []
        for number, name in enumerate(names):
            with tf.name_scope(f"part_{number}"), v1.variable_scope("", reuse=v1.AUTO_REUSE):
                weight = v1.get_variable(name, [3, 2], use_resource=False)
                pairs.append(optimizer.compute_gradients(tf.reduce_mean(tf.tanh(tf.matmul(x, weight))), [weight]))
        means = [(tf.add_n([pairs[0][0][0], pairs[1][0][0]]) / 2.0, pairs[0][0][1])]
        optimizer.apply_gradients(means if are_shared else pairs[0] + pairs[1], name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"] if are_shared else ["w0", "w1"]), "m")
    assert found.plan.towers == towers


def test_towers_are_no_branches():
    graph = traced(two_towers)
    towers = find_towers(graph, ImportedGraph(graph), ["w"], graph.inputs("train")[1:])
    assert not are_branches(graph, towers, ["w"])
