"""Sums by NCCL, whose ops have no edge between them, and by `tf.accumulate_n`."""

import numpy as np
import pytest

from legacy.saved.graph.additions import (
    ALL_REDUCE,
    add_up_accumulated,
    add_up_all_reduced,
    add_up_in_temporary_variables,
)
from tests.legacy.saved.graphs import graph_of

TEXT = """
    a = Placeholder()
    b = Placeholder()
    first = NcclAllReduce(a)
    second = NcclAllReduce(b, ^a)
"""


@pytest.mark.parametrize(
    "names, reduction, devices, is_sum",
    [(b"cc", b"sum", 2, True), (b"cd", b"sum", 2, False), (b"cc", b"max", 2, False), (b"cc", b"sum", 3, False)],
)
def test_the_ops_of_one_sum_add_what_all_devices_give(names, reduction, devices, is_sum):
    graph_def = graph_of(TEXT).graph_def
    nodes = {node.name: node for node in graph_def.node}
    for node, name in zip((nodes["first"], nodes["second"]), names):
        node.attr["shared_name"].s, node.attr["reduction"].s = bytes([name]), reduction
        node.attr["num_devices"].i = devices
    assert add_up_all_reduced(graph_def) == ({"first", "second"} if is_sum else set())
    assert list(nodes["first"].input) == (["a", "b"] if is_sum else ["a"])
    assert list(nodes["second"].input) == (["a", "b", "^a"] if is_sum else ["b", "^a"])
    assert {nodes[name].op for name in ("first", "second")} == {"AddN" if is_sum else ALL_REDUCE}


@pytest.mark.parametrize("op, expected", [("AccumulateNV2", "AddN"), ("Pack", "Pack")])
def test_an_accumulated_sum_is_an_addition(op, expected):
    graph_def = graph_of(
        f"a = Placeholder()\nb = Placeholder()\nsum = {op}(a, b, ^a)", sum={"N": 2, "shape": 3}
    ).graph_def
    add_up_accumulated(graph_def)
    assert (graph_def.node[2].op, "shape" in graph_def.node[2].attr) == (expected, expected == "Pack")
    assert list(graph_def.node[2].input) == ["a", "b", "^a"] and graph_def.node[2].attr["N"].i == 2


ACCUMULATED = """
    a = Placeholder()
    b = Placeholder()
    variable = TemporaryVariable()
    first = Merge(a, b)
    zeros = ZerosLike(first)
    start = Assign(variable, zeros)
    add_a = AssignAdd(start, a)
    add_b = AssignAdd(start, b)
    sum = DestroyTemporaryVariable(start, ^add_a, ^add_b)
    used = Identity(sum)
"""


def test_a_sum_in_a_temporary_variable_is_an_addition():
    graph_def = graph_of(ACCUMULATED, sum={"var_name": "v"}).graph_def
    graph_def.node[-1].attr["_class"].list.s.extend([b"loc:@variable", b"loc:@a"])
    add_up_in_temporary_variables(graph_def)
    assert [(node.name, node.op) for node in graph_def.node[2:]] == [("sum", "AddN"), ("used", "Identity")]
    assert list(graph_def.node[2].input) == ["a", "b"] and graph_def.node[2].attr["N"].i == 2
    assert "var_name" not in graph_def.node[2].attr and list(graph_def.node[3].attr["_class"].list.s) == [b"loc:@a"]


#: Of a known shape, the zeros are a constant, and nothing takes the term that arrives first.
OF_KNOWN_SHAPE = ACCUMULATED.replace("ZerosLike(first)", "Const()")


def test_a_temporary_variable_may_begin_with_a_constant():
    graph_def = graph_of(OF_KNOWN_SHAPE, zeros={"value": np.zeros([2, 3], np.float32)}).graph_def
    add_up_in_temporary_variables(graph_def)
    assert [(node.name, node.op) for node in graph_def.node[2:]] == [("sum", "AddN"), ("used", "Identity")]
    assert list(graph_def.node[2].input) == ["a", "b"]


@pytest.mark.parametrize("value", [np.ones([2, 3], np.float32), np.array([0, 1e-30], np.float32), None])
def test_another_beginning_is_no_sum(value):
    attributes = {} if value is None else {"zeros": {"value": value}}
    graph_def = graph_of(OF_KNOWN_SHAPE, **attributes).graph_def
    add_up_in_temporary_variables(graph_def)
    assert [node.op for node in graph_def.node][-2:] == ["DestroyTemporaryVariable", "Identity"]


def test_a_merge_that_another_op_takes_stays():
    graph_def = graph_of(
        OF_KNOWN_SHAPE + "    other = Identity(first)\n", zeros={"value": np.zeros(3, np.float32)}
    ).graph_def
    add_up_in_temporary_variables(graph_def)
    assert [node.name for node in graph_def.node] == ["a", "b", "first", "sum", "used", "other"]


@pytest.mark.parametrize(
    "line, other",
    [
        ("zeros = ZerosLike(first)", "zeros = OnesLike(first)"),
        ("add_b = AssignAdd(start, b)", "add_b = AssignSub(start, b)"),
        ("used = Identity(sum)", "used = Identity(start)"),
        ("^add_a, ^add_b", "^add_a"),  # the sum may be read before b is added
    ],
)
def test_a_temporary_variable_that_holds_no_sum_stays(line, other):
    graph_def = graph_of(ACCUMULATED.replace(line, other)).graph_def
    add_up_in_temporary_variables(graph_def)
    assert [node.name for node in graph_def.node if node.op == "DestroyTemporaryVariable"] == ["sum"]
    assert len(graph_def.node) == 10


@pytest.mark.parametrize(
    "line, other",
    [
        ("DestroyTemporaryVariable(start, ^add_a, ^add_b)", "DestroyTemporaryVariable()"),
        ("DestroyTemporaryVariable(start", "DestroyTemporaryVariable(lost"),
        ("AssignAdd(start, b)", "AssignAdd(start)"),
        ("zeros = ZerosLike(first)", "zeros = ZerosLike(lost)"),
        ("Assign(variable, zeros)", "Assign(variable)"),
    ],
)
def test_a_damaged_sum_is_left_to_the_check_of_the_graph(line, other):
    assert line in ACCUMULATED
    graph_def = graph_of(ACCUMULATED.replace(line, other)).graph_def
    add_up_in_temporary_variables(graph_def)
    assert "sum" in [node.name for node in graph_def.node]


def test_an_all_reduce_without_an_input_stays():
    graph_def = graph_of(
        "sum = NcclAllReduce()", sum={"reduction": "sum", "shared_name": "s", "num_devices": 1}
    ).graph_def
    add_up_all_reduced(graph_def)
    assert graph_def.node[0].op == "NcclAllReduce"
