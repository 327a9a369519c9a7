"""Names of tensors, and what a NodeDef says about its device."""

from tensorflow.core.framework import node_def_pb2, types_pb2

from workloads.lifted.graph.tensor_names import TensorId, forget_placement, input_text, parse_tensor_name, tensor_name


def test_a_tensors_name_is_parsed_and_written():
    assert parse_tensor_name("a/b:2") == TensorId("a/b", 2) and parse_tensor_name("a") == ("a", 0)
    assert TensorId("a", 1).name == "a:1" and input_text(TensorId("a", 0)) == "a"
    assert tensor_name("a/b", 2) == "a/b:2"


def test_placement_is_forgotten_and_types_are_kept():
    node = node_def_pb2.NodeDef(name="a", op="Square", device="/gpu:0")
    node.attr["T"].type = types_pb2.DT_FLOAT
    node.attr["_class"].list.s.append(b"loc:@x")
    forget_placement(node)
    assert node.device == "" and set(node.attr) == {"T"}
