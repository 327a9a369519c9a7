"""A saved graph made ready for a session."""

from __future__ import annotations

import dataclasses
import doctest
import types

import pytest
import tensorflow as tf

from legacy.rerun import runnable
from tests.small_lift import SCALAR, small_graph, small_lift, small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.plan import ControlDependency, LoopCounter, Noise, ReadVersion

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "old, devices, expected",
    [
        ("", ["GPU:0"], ""),
        ("/job:worker/task:1", ["GPU:0"], ""),
        ("/cpu:0", ["GPU:0"], "/device:CPU:0"),
        ("/device:CPU:0", ["GPU:0"], "/device:CPU:0"),
        ("/gpu:1", ["CPU:3", "CPU:5"], "/device:CPU:5"),
        ("/job:a/device:GPU:3", ["CPU:3", "CPU:5"], "/device:CPU:5"),
        ("/cpu:1", ["CPU:3", "CPU:5"], "/device:CPU:5"),
    ],
)
def test_old_devices_are_mapped_to_those_that_are_here(old, devices, expected):
    assert runnable.present_device(old, devices) == expected


def test_inputs_and_drawn_numbers_get_a_placeholder_each():
    assert runnable.input_placeholders(small_plan(), ["r:0"]) == {
        "r:0": "lift_input_0",
        "x0:0": "lift_input_1",
        "x1:0": "lift_input_2",
    }


def test_the_outputs_that_are_used_of_random_nodes_outside_of_loops_are_drawn(tmp_path):
    workload = small_lift(str(tmp_path / "lift"))
    workload.plan.noise = [
        Noise("n", "RandomUniform", "keyed", ["g0", "g1"]),
        Noise("l", "RandomUniform", "keyed", ["total", None], True, {"total": LoopCounter("f", "c:0")}),
    ]
    assert runnable.drawn_tensors(workload) == {"g0:0": (0, "noise/n/0"), "g1:0": (1, "noise/n/0")}


def small_runnable(tmp_path, dependencies=None):
    workload = small_lift(str(tmp_path / "lift"))
    inputs = runnable.input_placeholders(workload.plan, [])
    return runnable.runnable_graph(workload, inputs, ["CPU:2", "CPU:3"], "keyed", dependencies)


def test_sources_are_replaced_by_placeholders_of_their_type_and_pruned(tmp_path):
    nodes = {node.name: node for node in small_runnable(tmp_path).node}
    assert "x0" not in nodes and nodes["lift_input_0"].op == "Placeholder"
    assert [dim.size for dim in nodes["lift_input_0"].attr["shape"].shape.dim] == [2]
    assert nodes["g1"].input[0] == "lift_input_1" and nodes["g1"].device == "/device:CPU:3"
    assert "update" in nodes and "w" in nodes and "w/Assign" not in nodes


def test_an_open_order_is_fixed_by_control_edges(tmp_path):
    def inputs(dependencies):
        nodes = {node.name: node for node in small_runnable(tmp_path, dependencies).node}
        return list(nodes["update"].input)

    assert inputs(None) == ["w", "rate", "mean", "^loss0", "^loss1"]  # the plan's
    assert inputs([[ControlDependency("loss1", "update")]]) == ["w", "rate", "mean", "^loss1"]
    assert inputs([[]]) == ["w", "rate", "mean"]


def noisy_workload():
    """Two random nodes, one with a stateless twin and one without."""
    with tf.Graph().as_default() as graph:
        uniform = tf.raw_ops.RandomUniform(shape=tf.constant([2]), dtype=tf.float32, name="a/uniform")
        shuffled = tf.raw_ops.RandomShuffle(value=uniform, name="shuffle")
        tf.reduce_sum(shuffled, name="update")
    plan = small_plan()
    plan.variables, plan.inputs = [], []
    plan.phases[0].losses = plan.phases[0].gradients = plan.phases[0].control_dependencies = []
    plan.noise = [
        Noise("u", "RandomUniform", "keyed", ["a/uniform"]),
        Noise("s", "RandomShuffle", "seeded", ["shuffle"]),
    ]
    plan.tensors["a/uniform:0"] = SCALAR
    return types.SimpleNamespace(plan=plan, graph=Graph(graph.as_graph_def()))


def test_random_nodes_take_a_key_or_a_seed():
    nodes = {n.name: n for n in runnable.runnable_graph(noisy_workload(), {}, ["CPU:0"], "keyed", None).node}
    assert runnable.key_name("a/uniform") == "a_uniform_lift_key"
    assert nodes["a/uniform"].op == "StatelessRandomUniform" and nodes["a/uniform"].input[1] == "a_uniform_lift_key"
    assert nodes["a_uniform_lift_key"].op == "Placeholder"
    assert nodes["shuffle"].op == "RandomShuffle" and nodes["shuffle"].attr["seed"].i > 0


def test_recorded_numbers_take_the_place_of_a_random_node():
    inputs = {"a/uniform:0": "lift_input_0"}
    nodes = {n.name: n for n in runnable.runnable_graph(noisy_workload(), inputs, ["CPU:0"], "drawn", None).node}
    assert nodes["shuffle"].input[0] == "lift_input_0" and "a/uniform" not in nodes


@pytest.mark.parametrize(
    "user, enters, late, op, device",
    [
        ("Identity", "w", False, "Enter", 1),
        ("Identity", "w", True, "RefEnter", 0),  # it would be read too early
        ("Identity", "update", True, "Enter", 1),
        ("RefIdentity", "w", False, "RefEnter", 0),
    ],
)
def test_a_value_enters_a_loop_on_the_loops_device(user, enters, late, op, device, tmp_path):
    """Unless something in the loop needs the reference, which has to stay with its variable."""
    graph_def = v1.GraphDef()
    graph_def.CopyFrom(small_graph().graph_def)
    for name, kind, source, place in (("enter", "RefEnter", enters, "/cpu:0"), ("inside", user, "enter", "/gpu:1")):
        node = graph_def.node.add(name=name, op=kind, input=[source], device=place)
        node.attr["T"].type = tf.float32.as_datatype_enum
    workload = dataclasses.replace(small_lift(str(tmp_path / "lift")), graph=Graph(graph_def))
    phase = workload.plan.phases[0]
    phase.train_op = "inside"
    phase.versions = [ReadVersion("inside", "w", 1)] if late else []
    result = runnable.runnable_graph(workload, {}, ["CPU:0", "CPU:1"], "keyed", None)
    made = {node.name: node for node in result.node}
    assert (made["enter"].op, made["enter"].device) == (op, f"/device:CPU:{device}")
    assert made["inside"].device == "/device:CPU:1"


def test_nothing_of_the_graph_itself_is_changed(tmp_path):
    before = small_graph().graph_def.SerializeToString(deterministic=True)
    workload = small_lift(str(tmp_path / "lift"))
    runnable.runnable_graph(workload, runnable.input_placeholders(workload.plan, []), ["CPU:0"] * 2, "keyed", None)
    assert workload.graph.graph_def.SerializeToString(deterministic=True) == before


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(runnable).failed == 0 < doctest.testmod(runnable).attempted
