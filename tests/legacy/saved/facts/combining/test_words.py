"""The kind of a combination of gradients in words."""

import types

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.combining.rows import combining_rows
from legacy.saved.facts.combining.words import combination_text
from tests.legacy.saved.graphs import graph_of, saved, traced
from workloads.lifted.plan import Combine


@pytest.mark.parametrize(
    "towers, kind, scale, loss_scale, text",
    [
        (2, "mean", 1.0, 1.0, "mean"),
        (2, "sum", 1.0, 1.0, "sum"),
        (2, "sum", 1.0, 0.5, "sum of losses that are divided by the towers: a mean"),
        (2, "concat", 1.0, 0.5, "concat of losses that are divided by the towers: a mean"),
        (1, "sum", 1.0, 1.0, "one tower alone; in a port of several replicas: sum"),  # nothing is combined in the graph
        (1, "concat", 1.0, 1.0, "one tower alone; in a port of several replicas: concat"),
        (1, "kept as written", 1.0, 1.0, "kept as written"),
        (1, "sum", 0.25, 1.0, "one tower alone; in a port of several replicas: sum, scaled by 0.25"),
    ],
)
def test_one_towers_gradients_are_not_said_to_be_combined(towers, kind, scale, loss_scale, text):
    combine = Combine("w", kind, "sum:0", scale, [[f"g{tower}:0"] for tower in range(towers)])
    phase = types.SimpleNamespace(effects=[], loss_scale=loss_scale, shared_loss=False, losses=[])
    graph = graph_of("g0 = Neg()\ng1 = Neg()\nsum = AddN(g0, g1)")
    analysed = types.SimpleNamespace(
        plan=types.SimpleNamespace(updated=[], towers=towers, batch=4),
        graph=graph,
        imported=None,
        may_be_its_own=lambda phase: False,
        probe=types.SimpleNamespace(weights=lambda combine: None),
    )
    assert combination_text(analysed, phase, combine) == text


@pytest.mark.parametrize(
    "kind, scale, words",
    [("sum", 0.25, "mean, scaled by 0.25"), ("concat", 1.0, "concat, divided by their number")],
)
def test_replicas_of_one_tower_with_a_mean_loss_are_averaged(kind, scale, words):
    combine = Combine("w", kind, "sum:0", scale, [["g0:0"]], divided=True)
    analysed = types.SimpleNamespace(plan=types.SimpleNamespace(updated=[], towers=1), graph=graph_of("sum = Neg()"))
    text = combination_text(analysed, types.SimpleNamespace(effects=[]), combine)
    assert text == f"one tower alone; in a port of several replicas: {words}"


def on_two_devices(losses):
    """The analysis of two devices that only differentiate: the first and the last of `losses`, computed before."""
    v1 = tf.compat.v1

    def build():
        w = v1.get_variable("w", [3, 2], use_resource=False)
        h = tf.sigmoid(v1.placeholder(tf.float32, [4, 3], "x") @ w)
        computed, gradients = losses(h), []
        for k, loss in enumerate((computed[0], computed[-1])):
            with tf.device(f"/gpu:{k}"), tf.name_scope(f"GPU_{k}"):
                gradients += v1.gradients(loss, [w])
        mean = tf.reduce_mean(tf.stack(gradients), 0)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(mean, w)], name="train")

    return analyse_graph(saved(traced(build), trainable_variables=["w"]), "small")


@pytest.mark.parametrize(
    "losses, words",
    [
        (lambda h: [tf.reduce_mean(tf.square(h))], "the gradient of one loss, computed 2 times"),
        (lambda h: [tf.reduce_mean(tf.square(h)), tf.reduce_mean(h)], "the gradients of 2 losses"),
    ],
    ids=["one loss, differentiated on each device", "a loss for each device"],
)
def test_one_loss_that_is_differentiated_twice_is_not_said_to_be_two(losses, words):
    found = on_two_devices(losses)
    assert found.plan.towers == 1
    assert "since none of them computes with variables in a forward pass" in found.context.towers.doubt
    (row,) = combining_rows(AnalysedStep(found))
    assert row["are"] == f"one tower alone, {words}; in a port of several replicas: mean"
