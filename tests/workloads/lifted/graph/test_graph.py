"""The index of a GraphDef, and the functions that are cut out of one."""

import doctest
import json

import numpy as np
import pytest
import tensorflow as tf

from tests import old_programs
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph import graph as graph_module
from workloads.lifted.pieces.cutter import Cutter
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


def test_nodes_of_op_types_are_in_the_order_of_the_graph():
    graph = graph_of(loop)
    enters = [name for name, node in graph.nodes.items() if node.op == "Enter"]
    others = [name for name, node in graph.nodes.items() if node.op in ("Mul", "Placeholder", "Enter")]
    assert graph.of_types("Enter") == enters and len(enters) > 1
    assert graph.of_types("Mul", "Enter", "Placeholder", "Enter", "NoSuchOp") == others
    assert graph.of_kind(lambda kind: kind in ("Mul", "Placeholder", "Enter")) == others
    assert graph.of_type_prefix(("Ent", "Placeholder", "Mul")) == others
    assert graph.of_types() == graph.of_types("NoSuchOp") == graph.of_type_prefix("nothing") == []
    graph.of_types("Enter").clear()
    assert graph.of_types("Enter") == enters, "the caller's list is its own"


def test_equal_names_are_one_object():
    graph = graph_of(loop)
    own = {name: name for name in graph.nodes}
    inputs = [tensor.node for name in graph.nodes for tensor in graph.inputs(name)]
    waited_for = [before for name in graph.nodes for before in graph.controls(name)]
    assert inputs and waited_for and all(own[name] is name for name in inputs + waited_for)


def test_orders_loops_and_knows_what_is_inside():
    graph = graph_of(loop)
    order = graph.order(set(graph.nodes))
    assert set(order) == set(graph.nodes) and order.index("x") < order.index("y")
    inside = graph.frames()
    assert "loop/mul" in inside and "y" not in inside and "x" not in inside


def test_what_follows_an_inner_loop_is_inside_of_the_outer_one():
    def build():
        def body(turn, x):
            _, y = v1.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * x), [0, x], name="inner")
            return turn + 1, tf.identity(y, name="after")

        _, z = v1.while_loop(lambda turn, _: turn < 3, body, [0, v1.placeholder(tf.float32, [])], name="outer")
        tf.identity(z, name="end")

    graph = graph_of(build)
    inside = graph.frames()
    exits = {name for name in graph.nodes if graph.type(name) == "Exit"}
    assert {"outer/after", "outer/inner/mul"} <= inside and "end" not in inside
    assert {name.startswith("outer/inner/") for name in exits & inside} == {True}
    assert {name.startswith("outer/inner/") for name in exits - inside} == {False}


def test_refuses_an_order_that_runs_in_circles():
    graph = graph_of(lambda: tf.identity(tf.constant(1.0, name="a"), name="b"))
    assert graph.order({"a", "b"}) == ["a", "b"]
    with pytest.raises(ValueError):
        graph.order({"a", "b"}, [("b", "a")])


def test_an_order_is_the_same_each_time_and_is_the_callers_own():
    graph = graph_of(loop)
    first = graph.order(graph.nodes)
    again = graph.order(graph.nodes)
    assert first == again == Graph(graph.graph_def).order(set(reversed(list(graph.nodes))))
    again.clear()
    assert graph.order(graph.nodes) == first


def test_an_order_of_some_nodes_leaves_the_others_out():
    graph = graph_of(lambda: tf.add(tf.constant(1.0, name="a"), tf.constant(2.0, name="b"), name="c"))
    assert graph.order(["c", "b", "unknown"]) == ["b", "c"]
    assert graph.order(["c", "b", "a"], [("b", "a")]) == ["b", "a", "c"]


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


def diamond():
    """x feeds a and b, c adds them; after waits for c."""
    x = v1.placeholder(tf.float32, [], name="x")
    c = tf.add(tf.square(x, name="a"), tf.negative(x, name="b"), name="c")
    with tf.control_dependencies([c]):
        tf.no_op(name="after")


def test_knows_what_feeds_a_node_and_what_uses_it():
    graph = graph_of(diamond)
    assert (
        graph.inputs("c") == [("a", 0), ("b", 0)] and graph.controls("after") == ["c"] and graph.after("c") == ["after"]
    )
    assert graph.users("x") == [("a", 0, 0), ("b", 0, 0)] and graph.users("b") == [("c", 1, 0)]
    assert graph.type("a") == "Square" and graph.users("after") == []


def test_reaches_up_and_down_as_far_as_it_is_asked():
    graph = graph_of(diamond)
    assert graph.ancestors(["after"]) == {"after", "c", "a", "b", "x"}
    assert graph.ancestors(["after"], controls=False) == {"after"}
    assert graph.ancestors(["c"], stop={"a", "b"}) == {"c", "a", "b"}
    assert graph.descendants(["a"]) == {"a", "c", "after"} and graph.descendants(["a"], controls=False) == {"a", "c"}


def test_bits_flow_both_ways_but_not_into_a_stop():
    graph = graph_of(diamond)
    order = graph.order(set(graph.nodes))
    assert graph.flow(order, {"a": 1, "b": 2})["c"] == 3
    assert graph.flow(order, {"a": 1, "b": 2}, stop={"c"})["after"] == 0
    assert graph.flow(order, {"c": 4}, backwards=True)["x"] == 4 and graph.flow(order, {"c": 4})["x"] == 0
    assert graph.flow(order, {"c": 1})["after"] == 1 and graph.flow(order, {"c": 1}, controls=False)["after"] == 0


def test_a_copys_origin_is_what_it_copies():
    graph = graph_of(
        lambda: tf.identity(tf.identity(tf.square(v1.placeholder(tf.float32, name="x"), name="s"), name="i"))
    )
    assert graph.origin(TensorId("Identity", 0)) == ("s", 0) == graph.origin(TensorId("s", 0))


def test_a_node_without_data_waits_for_the_predicate_that_chooses_its_branch():
    def build():
        tf.cond(v1.placeholder(tf.bool, [], "p"), lambda: tf.constant(1.0, name="one"), lambda: tf.constant(2.0) * 2.0)
        with tf.control_dependencies([tf.no_op("before")]):
            tf.constant(3.0, name="after")

    graph = graph_of(build)
    (pivot,) = graph.chosen_by("cond/one")
    assert graph.before_branches(TensorId(pivot, 0)) == TensorId("p", 0)
    assert graph.chosen_by("after") == [], "an op that is no branch's beginning"
    assert graph.chosen_by("cond/mul") == [], "its inputs are in the branch"


def test_the_joins_of_no_branch_and_no_loop_are_outermost():
    """What waits for one of these is run; the Merge in a branch is not, where the other branch is taken."""

    def build():
        x = v1.placeholder(tf.float32, [], "x")
        inner = lambda: v1.cond(x > 1.0, lambda: x * 2.0, lambda: tf.constant(3.0), name="inner")  # noqa: E731
        chosen = v1.cond(x > 0.0, inner, lambda: x - 1.0, name="outer")
        v1.while_loop(lambda y: y < 4.0, lambda y: v1.cond(y > 1.0, lambda: y + 1.0, lambda: y + 2.0), [chosen])
        tf.gradients(chosen, x)

    graph = graph_of(build)
    found, gradients = graph.outermost_joins(), {name for name in graph.nodes if name.startswith("gradients/")}
    assert found - gradients == {"outer/Merge", "while/Exit"}
    assert {"outer/inner/Merge", "while/cond/Merge", "while/Merge"} <= graph.nodes.keys()
    assert {graph.type(name) for name in found & gradients} == {"Merge"}


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(graph_module).failed == 0 < doctest.testmod(graph_module).attempted
