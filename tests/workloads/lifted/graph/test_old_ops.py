"""Ops that newer graph versions do not have."""

import numpy as np
import tensorflow as tf

from workloads.lifted.graph.old_ops import SUCCESSORS, registered_op, replace_old_ops

v1 = tf.compat.v1


def written_in_a_loop():
    """GraphDef of a loop that writes the squares of 0, 1, 2 into a tensor array, with the ops of TensorFlow 0.12."""
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        flow = tf.constant(0.0)
        array = tf.raw_ops.TensorArrayV3(size=3, dtype=tf.float32).handle

        def body(turn, flow):
            square = tf.cast(turn * turn, tf.float32)
            flow = tf.raw_ops.TensorArrayWriteV3(handle=array, index=turn, value=square, flow_in=flow)
            return turn + 1, flow

        _, flow = v1.while_loop(lambda turn, flow: turn < 3, body, [tf.constant(0), flow])
        tf.raw_ops.TensorArrayGatherV3(handle=array, indices=[0, 1, 2], flow_in=flow, dtype=tf.float32, name="all")
    graph_def = graph.as_graph_def()
    graph_def.versions.producer = 17
    old = {new: name for name, new in SUCCESSORS.items()}
    for node in graph_def.node:  # as it was written then: this TensorFlow makes none of these ops
        node.op = old.get(node.op, node.op)
        if node.op == "Enter" and node.attr["T"].type == tf.resource.as_datatype_enum:
            node.attr["T"].type = tf.string.as_datatype_enum
    return graph_def


def run_in_a_function(graph_def):
    wrapped = v1.wrap_function(lambda: tf.import_graph_def(graph_def, return_elements=["all:0"], name=""), [])
    return wrapped()[0].numpy().tolist()


def test_tensor_arrays_of_old_graphs_run_in_functions():
    graph_def = written_in_a_loop()
    assert {"TensorArrayV2", "TensorArrayWriteV2"} < {node.op for node in graph_def.node}
    replace_old_ops(graph_def)
    assert not {node.op for node in graph_def.node} & set(SUCCESSORS)
    entered = {node.input[0]: node.attr["T"].type for node in graph_def.node if node.op == "Enter"}
    assert entered["TensorArrayV3"] == tf.resource.as_datatype_enum
    assert "TensorArrayV3:1" in entered and "Const" not in entered  # its flow begins at the array
    assert run_in_a_function(graph_def) == np.square([0.0, 1.0, 2.0]).tolist()


def test_without_removed_ops_nothing_changes():
    graph_def = written_in_a_loop()
    replace_old_ops(graph_def)
    before = graph_def.SerializeToString(deterministic=True)
    replace_old_ops(graph_def)
    assert graph_def.SerializeToString(deterministic=True) == before


def test_an_ops_definition_is_found_by_its_type():
    assert registered_op("MatMul").name == "MatMul" and registered_op("NoSuchOp") is None
