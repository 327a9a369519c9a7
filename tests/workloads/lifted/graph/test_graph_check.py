"""A graph from anywhere is checked in Python before TensorFlow sees it: the old programs pass, each damage is named."""

import pytest
import tensorflow as tf

from tests import old_programs
from tests.refusals import refusal
from tests.small_lift import small_graph
from workloads.lifted.graph.graph_check import is_dtype, require_sound_graph
from workloads.support.errors import InputError

v1 = tf.compat.v1


def node(graph_def, name):
    """The node of a name."""
    return next(node for node in graph_def.node if node.name == name)


@pytest.mark.parametrize("name", old_programs.NAMES)
def test_every_old_program_is_sound(name):
    with open(old_programs.path(name, "graph.meta"), "rb") as file:
        graph_def = v1.MetaGraphDef.FromString(file.read()).graph_def
    assert refusal(require_sound_graph, graph_def, "graph") == ""


def set_input(name, text):
    def change(graph_def):
        node(graph_def, name).input[0] = text

    return change


def duplicate(graph_def):
    graph_def.node.add().CopyFrom(node(graph_def, "g0"))


def remove_attribute(graph_def):
    del node(graph_def, "rate").attr["dtype"]


def change_kind(graph_def):
    node(graph_def, "rate").attr["dtype"].i = 1


def unknown_dtype(graph_def):
    node(graph_def, "rate").attr["dtype"].type = 999


def other_dtype(graph_def):
    node(graph_def, "rate").attr["dtype"].type = 3


def more_inputs(graph_def):
    node(graph_def, "mean").input.append("total")


def huge_number(graph_def):
    node(graph_def, "total").attr["N"].i = 1 << 62


def content_of_another_shape(graph_def):
    tensor = node(graph_def, "rate").attr["value"].tensor
    tensor.tensor_shape.dim.add(size=1 << 40)
    tensor.tensor_content = b"1234"


def negative_dimension(graph_def):
    node(graph_def, "rate").attr["value"].tensor.tensor_shape.dim.add(size=-5)


def cycle(graph_def):
    node(graph_def, "total").input[0] = "mean"


def control_before_data(graph_def):
    node(graph_def, "mean").input.insert(0, "^g0")


def functions(*calls):
    """A change that adds functions: each (name, callee)."""

    def change(graph_def):
        for name, callee in calls:
            function = graph_def.library.function.add()
            function.signature.name = name
            function.node_def.add(name="call", op="PartitionedCall").attr["f"].func.name = callee

    return change


@pytest.mark.parametrize(
    "change, message",
    [
        (set_input("mean", "nothing"), "has the input 'nothing', and there is no such node"),
        (set_input("mean", "total:x"), "has the input 'total:x', expected a node's name"),
        (set_input("mean", "total:1"), "takes 'total:1', but 'total' has 1 output"),
        (set_input("mean", "total:99999999999999"), "expected a node's name"),
        (set_input("mean", ""), "has the input '', expected"),
        (duplicate, "two nodes are called 'g0'"),
        (remove_attribute, "node 'rate' .Const. lacks the attribute 'dtype'"),
        (change_kind, "attribute 'dtype' of node 'rate' .Const. is no type"),
        (unknown_dtype, "attribute 'dtype' of node 'rate' is no dtype: 999"),
        (other_dtype, "constant of another dtype"),
        (more_inputs, "node 'mean' .Mul. has 3 inputs, expected 2"),
        (huge_number, "node 'total' .AddN. has 2 inputs, expected 65537"),
        (content_of_another_shape, "has 4 bytes, its shape says 4398046511104"),
        (negative_dimension, "has a dimension of -5"),
        (cycle, "depends on itself"),
        (control_before_data, "has a data input behind a control input"),
        (functions(("f", "f")), "function 'f' of its library calls itself"),
        (functions(("f", "g"), ("g", "h"), ("h", "f")), "calls itself, directly or by way of others"),
        (functions(("f", "g"), ("f", "g")), "two functions of its library are called 'f'"),
    ],
)
def test_each_damage_is_named(change, message):
    graph_def = v1.GraphDef()
    graph_def.CopyFrom(small_graph().graph_def)
    assert refusal(require_sound_graph, graph_def, "graph") == ""
    change(graph_def)
    with pytest.raises(InputError, match="^graph: .*" + message):
        require_sound_graph(graph_def, "graph")


def test_functions_that_call_others_are_sound():
    graph_def = v1.GraphDef()
    functions(("f", "g"), ("g", "h"), ("h", "elsewhere"), ("k", "g"))(graph_def)
    assert refusal(require_sound_graph, graph_def, "graph") == ""


def test_a_gradient_that_is_its_own_function_is_recursion():
    graph_def = v1.GraphDef()
    functions(("f", "g"), ("g", "h"))(graph_def)
    graph_def.library.gradient.add(function_name="g", gradient_func="f")
    with pytest.raises(InputError, match="calls itself"):
        require_sound_graph(graph_def, "graph")


def test_numbers_of_dtypes():
    assert is_dtype(1) and is_dtype(101) and not is_dtype(0) and not is_dtype(77)
