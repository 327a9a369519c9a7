"""Step graphs of small TensorFlow graphs: work, devices, constants, and the towers' and the port's own."""

import numpy as np
import tensorflow as tf

from parity.prediction import legacy_graph, port_graph
from parity.prediction.graph_costs import work_of_ops
from parity.prediction.graph_reading import read_nodes, tensor_bytes
from parity.prediction.machines.built_in import MACHINES
from parity.prediction.prediction import predict
from parity.prediction.shapes import ShapesOnly, parameter_bytes
from parity.prediction.step_graph import Edge
from tests import old_programs
from tests.cases import Dyadic, setup
from workloads.job import Job

v1 = tf.compat.v1


def a_graph():
    """A product of 2x3 and 3x4 on GPU:1 of a fed matrix, times a constant that a product of constants makes."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, (2, 3), name="x")
        with tf.device("/gpu:1"):
            weights = tf.matmul(tf.ones((3, 5)), tf.ones((5, 4)), name="folded")
            tf.matmul(x, weights, name="product")
        tf.matmul(x, x, transpose_b=True, name="not_needed")
    return graph


def test_the_cost_model_counts_operations_and_bytes():
    work = work_of_ops(a_graph().as_graph_def(), ["product"])
    assert work["product"].flops == 2 * 2 * 3 * 4
    assert work["product"].size == 4 * (2 * 3 + 3 * 4 + 2 * 4)
    assert "not_needed" not in work


def test_only_what_is_needed_and_not_constant_is_read():
    graph = a_graph()
    nodes = read_nodes(graph, [graph.get_operation_by_name("product")], lambda device: device or "GPU:0")
    assert [(node.name, node.device) for node in nodes] == [("x", "CPU:0"), ("product", "GPU:1")]
    assert nodes[1].inputs == (Edge("x:0", "x", 24.0),)


def test_what_others_only_wait_for_does_not_run_unless_it_changes_something():
    with tf.Graph().as_default() as graph:
        x, variable = v1.placeholder(tf.float32, (4,), name="x"), v1.get_variable("w", (4,), use_resource=True)
        with tf.control_dependencies([variable.assign_add(tf.sqrt(x, name="read"))]):
            waited_for = tf.square(x, name="not_read")
        with tf.control_dependencies([waited_for]):
            result = tf.negative(x, name="result")
    types = [node.op for node in read_nodes(graph, [result.op], lambda device: device)]
    assert sorted(types) == ["AssignAddVariableOp", "Feed", "Neg", "Sqrt", "VarHandleOp"]


def test_ops_of_a_variable_are_where_it_is():
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            variable = v1.get_variable("w", (4,), use_resource=True)
        with tf.device("/gpu:1"):
            update = variable.assign_add(tf.sqrt(variable.read_value()))
    nodes = {node.op: node.device for node in read_nodes(graph, [update.op], lambda device: device)}
    assert nodes["AssignAddVariableOp"] == nodes["ReadVariableOp"] == "CPU:0"
    assert nodes["Sqrt"] == "GPU:1"


def test_bytes_of_a_tensor():
    with tf.Graph().as_default():
        assert tensor_bytes(v1.placeholder(tf.float64, (3, None))) == 24.0
        assert tensor_bytes(v1.placeholder(tf.float64, None)) == 0.0
        assert tensor_bytes(v1.placeholder(tf.string, (2,))) == 0.0


def test_batches_of_shapes_take_no_memory():
    batch = ShapesOnly(Job(Dyadic(), 2, 2**40)).shards(0)[1]["x"]
    assert batch.shape == (2**39,) and batch.strides == (0,) and batch.dtype == np.float32
    assert parameter_bytes(Job(Dyadic(), 2, dtype="float64")) == 16.0


def test_both_sides_read_their_own_step():
    made = setup(Dyadic(), 2)
    legacy = legacy_graph.legacy_step_graph(made, MACHINES["gtx1060"])
    port = port_graph.port_step_graph(made, MACHINES["gtx1060"])
    assert (legacy.side, port.side) == ("legacy", "modern")
    assert legacy.examples == port.examples == 8
    updates = [node for node in port.nodes if node.op == "ResourceApplyGradientDescent"]
    assert {node.device for node in updates} == {"GPU:0", "GPU:1"}
    assert all(node.work.size > 0 for node in updates)  # the captured variables' shapes are known


def test_an_old_graph_goes_in_as_it_is():
    made = old_programs.setup("h_dynamic_rnn", all_reduce="auto")  # with a loop, whose body counts once
    legacy = legacy_graph.legacy_step_graph(made, MACHINES["v100"])
    assert {node.device for node in legacy.nodes} == {"CPU:0", "GPU:0", "GPU:1"}
    ops = {node.op for node in legacy.nodes}
    assert "Merge" in ops and "NextIteration" in ops
    assert predict(legacy, MACHINES["v100"]).seconds > 0
    assert list(legacy.fed())
