"""Towers on devices of two kinds, told apart by their backward passes, and what is on the CPU of all towers."""

import contextlib

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.towers.placement import misplaced_towers
from legacy.saved.tower_search.labelling.mixed_devices import labels_of_both_kinds
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def towers_on(*devices, parts=lambda t, x: x, head="", penalty=False):
    """A program without name scopes whose towers are on some devices; variables, input and combining are on the CPU.

    Args:
      devices: of the towers.
      parts: makes what a tower takes of its part of the input, on the CPU.
      head: device of the towers' last layers, if it is another one.
      penalty: whether the weights' penalty, on the CPU, is differentiated by itself.
    """

    def build():
        with tf.device("/cpu:0"):
            w, u = v1.get_variable("w", [4, 3], use_resource=False), v1.get_variable("u", [3, 1], use_resource=False)
            x = tf.split(v1.placeholder(tf.float32, [4 * len(devices), 4], "x"), len(devices))
            x = [parts(tower, part) for tower, part in enumerate(x)]
        gradients = []
        for tower, device in enumerate(devices):
            with tf.device(device):
                hidden = tf.nn.relu(x[tower] @ w)
                with tf.device(head) if head else contextlib.nullcontext():
                    loss = tf.reduce_mean(tf.square(hidden @ u))
                gradients.append(v1.gradients(loss, [w, u], colocate_gradients_with_ops=True))
        with tf.device("/cpu:0"):
            if penalty:
                gradients.append(v1.gradients(0.1 * tf.nn.l2_loss(w) + 0.1 * tf.nn.l2_loss(u), [w, u]))
            pairs = [(tf.add_n(list(row)) / 2.0, weight) for row, weight in zip(zip(*gradients), [w, u])]
            v1.train.GradientDescentOptimizer(0.1).apply_gradients(pairs, name="train")

    return saved(traced(build), trainable_variables=["w", "u"])


def labels(graph):
    return labels_of_both_kinds(graph.graph, {name: node.device for name, node in graph.graph.nodes.items()})


@pytest.mark.parametrize(
    "devices",
    [("/cpu:0", "/gpu:0"), ("/gpu:0", "/cpu:0"), ("/gpu:0", "/gpu:1", "/cpu:0"), ("/gpu:0", "/cpu:0", "/gpu:1")],
)
@pytest.mark.parametrize("parts", [lambda t, x: x, lambda t, x: x / 2.0])
def test_towers_are_numbered_in_their_order_and_the_one_on_the_cpu_is_named(devices, parts):
    graph = towers_on(*devices, parts=parts)
    found = labels(graph)
    assert [found[f"matmul{end}"] for end in ("", "_2", "_4")[: len(devices)]] == list(range(len(devices)))
    assert "x" not in found and not [name for name in found if graph.graph.type(name) in ("AddN", "VariableV2")]
    analysis = analyse_graph(graph, "small", ["train"])
    assert (analysis.plan.towers, analysis.plan.found_by) == (len(devices), "devices of two kinds")
    for whole in (WholeGraph(graph, analysis), WholeGraph(graph)):
        (hazard,) = misplaced_towers(whole)
        assert hazard.description.startswith(f"tower {devices.index('/cpu:0')} computes on cpu:0, the others on gpu:0")


@pytest.mark.parametrize(
    "graph",
    [
        lambda: towers_on("/gpu:0", "/gpu:1"),
        lambda: towers_on("/cpu:0", "/cpu:0"),
        lambda: towers_on("/gpu:0", "/gpu:1", head="/cpu:0"),  # layers on the CPU take what the GPUs make
        lambda: towers_on("/gpu:0", "/gpu:1", penalty=True),
    ],
)
def test_no_towers_of_two_kinds(graph):
    assert labels(graph()) == {}
