import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph.edits import GraphCopy, add_constant, unplaced_copy

v1 = tf.compat.v1


def sum_of_two():
    """A graph of a + b, on a device."""
    graph_def = v1.GraphDef()
    for name in ("a", "b"):
        add_constant(graph_def, name, 1.0, tf.float32)
    node = graph_def.node.add(name="sum", op="AddV2", input=["a", "b", "^a"], device="/device:GPU:1")
    node.attr["T"].type = tf.float32.as_datatype_enum
    return Graph(graph_def)


def test_a_copy_changes_and_the_graph_stays():
    graph = sum_of_two()
    result = GraphCopy(graph)
    result.give("sum", 1, TensorId(result.add_constant("two", np.float32(2)), 0))
    result.add("wait", "NoOp", ["^sum"], "/device:CPU:0")
    changed = result.graph()
    assert [tensor.node for tensor in changed.inputs("sum")] == ["a", "two"] and changed.controls("sum") == ["a"]
    assert changed.controls("wait") == ["sum"] and changed.nodes["wait"].device == "/device:CPU:0"
    assert "two" not in graph.nodes and [tensor.node for tensor in graph.inputs("sum")] == ["a", "b"]
    with v1.Session(graph=v1.Graph()) as session:
        tf.import_graph_def(changed.graph_def, name="")
        assert session.run("two:0") == 2.0


def test_copies_of_nodes_have_other_names_and_none_is_added_twice():
    graph = sum_of_two()
    result = GraphCopy(graph)
    copy = unplaced_copy(graph.nodes["sum"], "sum_again")
    result.add_missing([copy, copy, graph.nodes["a"]])
    assert [node.name for node in result.graph_def.node] == ["a", "b", "sum", "sum_again"]
    assert result.nodes["sum_again"].device == "" and result.nodes["sum"].device == "/device:GPU:1"
    assert result.add_copy(copy, "third").name == "third" and copy.name == "sum_again"


def test_constants_have_the_dtype_that_is_asked_for():
    graph_def = v1.GraphDef()
    nodes = [add_constant(graph_def, "a", 3, tf.int64), add_constant(graph_def, "b", np.zeros([2, 3], np.float64))]
    assert [tf.as_dtype(node.attr["dtype"].type) for node in nodes] == [tf.int64, tf.float64]
    assert tf.make_ndarray(nodes[1].attr["value"].tensor).shape == (2, 3)
