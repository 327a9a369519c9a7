"""Sums by NCCL, whose ops have no edge between them, and by `tf.accumulate_n`."""

import pytest

from legacy.saved.graph.nccl import add_up_accumulated, add_up_all_reduced
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
    add_up_all_reduced(graph_def)
    assert list(nodes["first"].input) == (["a", "b"] if is_sum else ["a"])
    assert list(nodes["second"].input) == (["a", "b", "^a"] if is_sum else ["b", "^a"])
    assert {nodes[name].op for name in ("first", "second")} == {"AddN" if is_sum else "NcclAllReduce"}


@pytest.mark.parametrize("op, expected", [("AccumulateNV2", "AddN"), ("Pack", "Pack")])
def test_an_accumulated_sum_is_an_addition(op, expected):
    graph_def = graph_of(
        f"a = Placeholder()\nb = Placeholder()\nsum = {op}(a, b, ^a)", sum={"N": 2, "shape": 3}
    ).graph_def
    add_up_accumulated(graph_def)
    assert (graph_def.node[2].op, "shape" in graph_def.node[2].attr) == (expected, expected == "Pack")
    assert list(graph_def.node[2].input) == ["a", "b", "^a"] and graph_def.node[2].attr["N"].i == 2
