"""The index of a GraphDef, and the functions that are cut out of one."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tests import old_programs
from workloads.lifted.graph import Graph
from workloads.lifted.pieces import Cutter
from workloads.lifted.plan import Plan
from workloads.selection import registry

v1 = tf.compat.v1


def graph_of(build):
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        build()
    return Graph(graph.as_graph_def())


def loop():
    x = v1.placeholder(tf.float32, [], name="x")
    _, y = v1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [tf.constant(0), x], name="loop")
    tf.identity(y, name="y")


def test_orders_loops_and_knows_what_is_inside():
    graph = graph_of(loop)
    order = graph.order(set(graph.nodes))
    assert set(order) == set(graph.nodes) and order.index("x") < order.index("y")
    inside = graph.frames()
    assert "loop/mul" in inside and "y" not in inside and "x" not in inside


def test_refuses_an_order_that_runs_in_circles():
    graph = graph_of(lambda: tf.identity(tf.constant(1.0, name="a"), name="b"))
    assert graph.order({"a", "b"}) == ["a", "b"]
    with pytest.raises(ValueError):
        graph.order({"a", "b"}, [("b", "a")])


def test_what_depends_on_data_is_known_through_a_loop():
    graph = graph_of(loop)
    arriving = graph.flow(graph.order(set(graph.nodes)), {"x": 1}, controls=False)
    assert arriving["y"] == 1 and arriving["loop/Less"] == 0


def test_a_piece_computes_what_the_graph_did():
    graph = graph_of(loop)
    cutter = Cutter(graph, {}, {}, lambda tensor: ("float32", []), {})
    piece = cutter.piece(["y:0"], ["x:0"])
    (feed,) = piece.feeds
    assert (feed.kind, feed.key) == ("cut", "x:0")
    with tf.Graph().as_default(), v1.Session() as session:
        (y,) = tf.import_graph_def(piece.graph_def, return_elements=piece.fetches, name="")
        assert session.run(y, {feed.placeholder + ":0": 5.0}) == 40.0


def test_a_piece_reads_variables_as_inputs():
    def build():
        w = v1.get_variable("w", [2, 3], use_resource=True)
        tf.gather(w, v1.placeholder(tf.int32, [None], name="rows"), name="g")
        tf.add(tf.reduce_sum(w), 1.0, name="total")

    graph = graph_of(build)
    cutter = Cutter(graph, {"w:0": "w"}, {"w": ("float32", [2, 3])}, lambda tensor: ("int32", [None]), {})
    names = [name for name in graph.nodes if graph.type(name) == "ResourceGather"]
    piece = cutter.piece([names[0] + ":0", "total:0"], ["rows:0"])
    assert {feed.kind: feed.key for feed in piece.feeds} == {"read": ("w", 0), "cut": "rows:0"}
    assert not any(node.op in ("VarHandleOp", "ResourceGather", "ReadVariableOp") for node in piece.graph_def.node)
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    with tf.Graph().as_default(), v1.Session() as session:
        fetches = tf.import_graph_def(piece.graph_def, return_elements=piece.fetches, name="")
        given = {f.placeholder + ":0": value if f.kind == "read" else [1, 1, 0] for f in piece.feeds}
        rows, total = session.run(fetches, given)
    assert rows.tolist() == value[[1, 1, 0]].tolist() and total == 16.0


@pytest.mark.parametrize("name", old_programs.NAMES)
def test_a_plan_survives_its_json(name):
    plan = registry.get(old_programs.lifted(name)).plan
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan and again.about["optimizer"] != "none"
