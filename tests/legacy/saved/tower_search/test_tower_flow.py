"""The data flow of a labelled graph: the towers that each node depends on."""

import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.op_types import LOOKUPS
from legacy.saved.tower_search.labelling.labellings import labellings
from legacy.saved.tower_search.tower_flow import TowerFlow
from tests.legacy.saved.graphs import traced, two_towers

v1 = tf.compat.v1


def flow_and_labelling():
    graph = traced(two_towers)
    inputs = [tensor for tensor in graph.inputs("train") if tensor.node != "w"]
    return TowerFlow(graph, ImportedGraph(graph), set(), inputs, ["w"]), next(labellings(graph))


def test_a_node_depends_on_the_tower_whose_nodes_lead_to_it():
    flow, labelling = flow_and_labelling()
    towers = flow.towers(labelling)
    assert towers.count == 2 and towers.found_by == labelling.found_by
    assert towers.tower_of("tower_0/product") == 0 and towers.tower_of("tower_1/loss") == 1
    assert towers.is_common("x") and towers.is_shared("train")


def test_one_label_for_all_nodes_is_one_tower():
    flow, labelling = flow_and_labelling()
    towers = flow.towers(labelling._replace(labels=dict.fromkeys(labelling.labels, 0)))
    assert towers.count == 1 and not towers.is_shared("train")


def prepared_on_the_cpu(scope, loss_device):
    """Two towers on GPUs; a scope of each, "tower_k/" or one outside, takes its half on the CPU from 1."""
    w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
    halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2, name="halves")
    gradients = []
    for tower in range(2):
        with tf.device("/cpu:0"), tf.name_scope(scope.format(tower)), tf.name_scope("inner"):
            ready = tf.subtract(1.0, halves[tower], name="ready")
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}/"):
            loss = tf.reduce_sum(tf.multiply(ready, w, name="product"), name="loss")
            gradients.append(tf.gradients(loss, [w])[0])
    tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add_n(gradients), name="train")


@pytest.mark.parametrize("loss_device", [None, "/cpu:0"])
@pytest.mark.parametrize(
    "scope, towers", [("tower_{}/", [0, 1]), ("prepare_{}/", [None, None]), ("all/", [None, None])]
)
def test_what_prepares_data_on_the_cpu_is_the_towers_in_whose_scope_it_stands(scope, towers, loss_device):
    graph = traced(lambda: prepared_on_the_cpu(scope, loss_device))
    inputs = [tensor for tensor in graph.inputs("train") if tensor.node != "w"]
    found = TowerFlow(graph, ImportedGraph(graph), set(), inputs, ["w"]).towers(next(labellings(graph)))
    ready = [name for name in graph.nodes if "/ready" in name and not name.endswith("/x")]
    assert [found.tower_of(name) for name in ready] == towers
    assert [found.tower_of(f"tower_{tower}/product") for tower in range(2)] == [0, 1]


@pytest.mark.parametrize("is_shared, towers", [(False, [0, 1]), (True, [None])])
def test_a_lookup_of_a_table_that_is_not_trained_is_the_towers_that_uses_it(is_shared, towers):
    """It is placed where the table is; one for all towers, whose rows they split, belongs to none."""

    def build():
        table = tf.raw_ops.VariableV2(shape=[5, 2], dtype=tf.float32, name="table")
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        words = v1.placeholder(tf.int32, [4], name="words")
        rows = tf.split(tf.gather(table, words, name="rows"), 2) if is_shared else []
        gradients = []
        for tower, part in enumerate(tf.split(words, 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                with tf.device(None):
                    row = rows[tower] if is_shared else tf.gather(table, part, name="rows")
                gradients += tf.gradients(tf.reduce_sum(tf.multiply(row, w, name="product"), name="loss"), [w])
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add_n(gradients), name="train")

    graph = traced(build)
    inputs = [tensor for tensor in graph.inputs("train") if tensor.node != "w"]
    found = TowerFlow(graph, ImportedGraph(graph), set(), inputs, ["w"]).towers(next(labellings(graph)))
    lookups = [name for name in graph.nodes if graph.type(name) in LOOKUPS]
    assert [found.tower_of(name) for name in lookups] == towers


@pytest.mark.parametrize("is_own, towers", [(True, [0, 1]), (False, [None, None])])
def test_examples_that_each_tower_keeps_in_a_variable_are_its_data(is_own, towers):
    """Labels are drawn in each step: what is computed from images alone is the tower's, unless all take the same."""

    def build():
        w = tf.raw_ops.VariableV2(shape=[3, 2], dtype=tf.float32, name="w")
        kept = [tf.raw_ops.VariableV2(shape=[4, 3], dtype=tf.float32, name=f"images_{k}") for k in range(2)]
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                outputs = tf.matmul(kept[tower if is_own else 0], w, name="outputs")
                labels = tf.random.uniform([4], maxval=2, dtype=tf.int32)
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
                gradients.append(tf.gradients(tf.reduce_mean(losses), [w])[0])
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add_n(gradients), name="train")

    graph = traced(build)
    inputs = [tensor for tensor in graph.inputs("train") if tensor.node != "w"]
    found = TowerFlow(graph, ImportedGraph(graph), set(), inputs, ["w"]).towers(next(labellings(graph)))
    assert [found.tower_of(f"tower_{tower}/outputs") for tower in range(2)] == towers
