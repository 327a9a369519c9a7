"""Functions cut out of a graph: what they are fed with, and what becomes of variables, branches and random ops."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.small_lift import small_graph, small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.pieces.piece import Feed, Fetch, VariableVersion
from workloads.lifted.plan import Condition, ReadVersion, TensorType

v1 = tf.compat.v1
SCALAR = TensorType("float32", [])


def traced(build) -> Graph:
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        build()
    return Graph(graph.as_graph_def())


def cutter_of(graph, random=None):
    """A cutter of a graph without variables, whose cuts are scalars."""
    return Cutter(graph, {}, {}, lambda tensor: SCALAR, random or {})


def computed(piece, values):
    """The piece's fetches for values of its feeds, in their order."""
    with tf.Graph().as_default(), v1.Session() as session:
        fetches = tf.import_graph_def(piece.graph_def, return_elements=piece.fetches, name="")
        return session.run(fetches, {feed.placeholder + ":0": value for feed, value in zip(piece.feeds, values)})


def small_cutter():
    types = small_plan().tensors
    return Cutter(small_graph(), {"w:0": "w", "w/read:0": "w"}, {"w": SCALAR}, types.__getitem__, {})


def test_a_piece_has_the_nodes_between_cuts_and_fetches_and_no_others():
    piece = small_cutter().piece(["mean:0"], ["g0:0", "g1:0"])
    assert [(feed.kind, feed.key) for feed in piece.feeds] == [("cut", "g0:0"), ("cut", "g1:0")]
    assert {node.name for node in piece.graph_def.node if node.op != "Placeholder"} == {"mean", "mean/y", "total"}
    assert computed(piece, [3.0, 7.0]) == [5.0] and piece.reads == []


def test_a_read_of_a_reference_variable_becomes_a_feed():
    piece = small_cutter().piece(["loss0:0"], ["x0:0"])
    assert piece.reads == [VariableVersion("w", 0)]
    assert not {node.op for node in piece.graph_def.node} & {"VariableV2", "Variable"}
    by_kind = {feed.kind: feed for feed in piece.feeds}
    assert set(by_kind) == {"read", "cut"} and isinstance(by_kind["read"], Feed)
    values = [2.0 if feed.kind == "read" else [1.0, 2.0] for feed in piece.feeds]
    assert computed(piece, values) == [6.0]


def test_a_node_reads_the_version_that_it_is_said_to_read():
    cutter = small_cutter()
    versions = [ReadVersion("mul", "w", 1)]
    assert cutter.piece(["loss0:0"], ["x0:0"], versions).reads == [VariableVersion("w", 1)]
    assert cutter.piece(["loss1:0"], ["x1:0"], versions).reads == [VariableVersion("w", 0)]
    assert cutter.piece([Fetch("w:0", "update")], [], [ReadVersion("update", "w", 2)]).reads == [
        VariableVersion("w", 2)
    ]


def test_a_gather_from_a_handle_becomes_a_gather_from_the_value():
    def build():
        w = v1.get_variable("w", [3, 2], use_resource=True)
        rows = tf.constant([2, 0])
        tf.raw_ops.ResourceGather(resource=w.handle, indices=rows, dtype=tf.float32, name="gather")
        tf.raw_ops.ResourceGatherNd(resource=w.handle, indices=tf.constant([[1]]), dtype=tf.float32, name="nd")
        tf.raw_ops.VariableShape(input=w.handle, name="shape")
        tf.raw_ops.ReadVariableOp(resource=w.handle, dtype=tf.float32, name="read")

    cutter = Cutter(traced(build), {"w:0": "w"}, {"w": TensorType("float32", [3, 2])}, lambda tensor: SCALAR, {})
    piece = cutter.piece(["gather:0", "nd:0", "shape:0", "read:0"])
    value = np.arange(6, dtype=np.float32).reshape(3, 2)
    gathered, nd, shape, read = computed(piece, [value])
    assert gathered.tolist() == [[4, 5], [0, 1]] and nd.tolist() == [[2, 3]] and shape.tolist() == [3, 2]
    assert read.tolist() == value.tolist() and piece.reads == [VariableVersion("w", 0)]


@pytest.mark.parametrize("how, op", [("keyed", "StatelessRandomUniform"), ("seeded", "RandomUniform"), ("drawn", None)])
def test_random_ops_are_replaced_as_the_plan_says(how, op):
    def build():
        uniform = tf.raw_ops.RandomUniform(shape=tf.constant([3]), dtype=tf.float32, name="random")
        tf.reduce_sum(uniform * 2.0, name="y")

    piece = cutter_of(traced(build), random={"random": how}).piece(["y:0"])
    nodes = {node.name: node for node in piece.graph_def.node}
    kinds = [(feed.kind, feed.key) for feed in piece.feeds]
    if op is None:
        assert "random" not in nodes and kinds == [("drawn", "random:0")]
        return
    assert nodes["random"].op == op and (nodes["random"].attr["seed"].i > 0) is (how == "seeded")
    assert kinds == ([("noise", "random")] if how == "keyed" else [])
    values = [[1, 2]] * len(kinds)
    assert computed(piece, values) == computed(piece, values)


def cond():
    x = v1.placeholder(tf.float32, [], name="x")
    finite = v1.is_finite(x, name="finite")
    v1.cond(finite, lambda: tf.identity(x * 2.0, name="taken"), lambda: tf.identity(x, name="left"), name="cond")


def test_a_branch_can_be_computed_as_if_it_were_taken():
    graph = traced(cond)
    (taken,) = [name for name in graph.nodes if name.endswith("taken")]
    cutter = cutter_of(graph)
    whole = cutter.piece([taken + ":0"], ["x:0"])
    assert any(node.op == "Switch" for node in whole.graph_def.node)
    piece = cutter.piece([taken + ":0"], ["x:0"], taken=[Condition("finite:0", True)])
    assert not any(node.op == "Switch" for node in piece.graph_def.node)
    assert computed(piece, [3.0]) == [6.0]


def test_placement_and_outer_control_edges_are_left_behind():
    def build():
        x = v1.placeholder(tf.float32, [], name="x")
        with tf.device("/gpu:7"), tf.control_dependencies([tf.raw_ops.Assert(condition=x > 0, data=[x])]):
            tf.identity(x, name="y")

    piece = cutter_of(traced(build)).piece(["y:0"], ["x:0"])
    (node,) = [node for node in piece.graph_def.node if node.name == "y"]
    assert node.device == "" and len(node.input) == 1
    assert computed(piece, [-1.0]) == [-1.0]


def test_functions_come_along_only_if_they_are_called():
    @tf.function(autograph=False)
    def double(x):
        return x * 2.0

    def build():
        x = v1.placeholder(tf.float32, [], name="x")
        tf.identity(double(x), name="y")
        tf.identity(x, name="z")

    cutter = cutter_of(traced(build))
    assert computed(cutter.piece(["y:0"], ["x:0"]), [4.0]) == [8.0]
    assert len(cutter.piece(["y:0"], ["x:0"]).graph_def.library.function) == 1
    assert len(cutter.piece(["z:0"], ["x:0"]).graph_def.library.function) == 0


def test_another_source_of_types_is_used_for_cuts():
    cutter = small_cutter().with_signature(lambda tensor: TensorType("float64", None))
    (node,) = [n for n in cutter.piece(["g0:0"], ["x0:0"]).graph_def.node if n.op == "Placeholder"]
    assert node.attr["dtype"].type == tf.float64.as_datatype_enum and node.attr["shape"].shape.unknown_rank


def test_a_constant_stays_in_its_loop_when_the_assertion_that_it_waits_for_is_left_out():
    def build():
        x = v1.placeholder(tf.float32, [], name="x")

        def body(turn, value):
            with tf.control_dependencies([v1.Assert(value < 100.0, [value])]):
                step = tf.constant(2.0, name="step")
            return turn + 1, value + step

        tf.identity(v1.while_loop(lambda turn, value: turn < 3, body, [tf.constant(0), x])[1], name="y")

    piece = cutter_of(traced(build)).piece(["y:0"], ["x:0"])
    assert not any(node.op == "Assert" for node in piece.graph_def.node)
    (step,) = [node for node in piece.graph_def.node if node.name.endswith("/step")]
    assert any(text.startswith("^while/") for text in step.input)
    assert computed(piece, [1.0]) == [7.0]


def test_a_node_that_waits_for_an_update_in_its_branch_does_not_wait_for_a_feed():
    def build():
        seen = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32, name="seen")
        x = v1.placeholder(tf.float32, [], name="x")

        def update():
            with v1.control_dependencies([v1.assign(seen, x, name="move")]):
                return tf.identity(x, name="same")

        v1.cond(v1.placeholder(tf.bool, [], name="p"), update, lambda: tf.constant(3.0))

    graph = traced(build)
    aliases = {"seen:0": "seen", "cond/move:0": "seen"}
    aliases.update({f"{name}:1": "seen" for name in graph.nodes if "move/Switch" in name})
    types = {"x:0": SCALAR, "p:0": TensorType("bool", [])}
    cutter = Cutter(graph, aliases, {"seen": SCALAR}, types.__getitem__, {})
    piece = cutter.piece(["cond/Merge:0"], ["x:0", "p:0"])
    feeds = {feed.placeholder for feed in piece.feeds}
    waits = {text for node in piece.graph_def.node for text in node.input if text.startswith("^")}
    assert not waits & {"^" + name for name in feeds} and "^cond/move" not in waits


@pytest.mark.parametrize("in_first", [True, False])
def test_what_a_branch_assigns_is_dead_where_it_is_not_taken(in_first):
    """The value of a variable behind an update is fed, and a `Merge` takes the first value that it gets."""

    def build():
        kept = v1.get_variable("kept", [], use_resource=False)
        x, first = v1.placeholder(tf.float32, [], "x"), v1.placeholder(tf.bool, [], name="p")
        branches = [lambda: v1.assign(kept, x, name="set"), lambda: tf.add(kept, x)]
        v1.cond(first, *branches[:: 1 if in_first else -1])

    graph = traced(build)
    switch = "cond/set/Switch:1" if in_first else "cond/set/Switch:0"
    aliases = dict.fromkeys(["kept:0", "kept/read:0", "cond/set:0", switch], "kept")
    types = {"x:0": SCALAR, "p:0": TensorType("bool", [])}
    cutter = Cutter(graph, aliases, {"kept": SCALAR}, types.__getitem__, {})
    piece = cutter.piece(["cond/Merge:0"], ["x:0", "p:0"], [ReadVersion("cond/Merge", "kept", 1)])
    fed = {"x:0": 10.0, VariableVersion("kept", 0): 2.0, VariableVersion("kept", 1): 7.0}
    for is_set in (True, False):
        values = [fed.get(feed.key, is_set == in_first) for feed in piece.feeds]
        assert computed(piece, values) == [7.0 if is_set else 12.0]
    (merge,) = (node for node in piece.graph_def.node if node.op == "Merge")
    assert not set(merge.input) & {feed.placeholder for feed in piece.feeds}


def test_what_waits_for_a_branch_that_is_joined_needs_no_branch():
    """As the mean of gradients, which waits for losses that the towers choose."""

    def build():
        x, y = (v1.placeholder(tf.float32, [], name) for name in "xy")
        loss = v1.cond(x > 0.0, lambda: x * 2.0, lambda: x - 1.0, name="loss")
        with v1.control_dependencies([loss]):
            tf.multiply(y, 0.5, name="mean")

    piece = cutter_of(traced(build)).piece(["mean:0"], ["y:0"])
    assert [feed.key for feed in piece.feeds] == ["y:0"]
    assert computed(piece, [3.0]) == [1.5]


def test_a_constant_of_a_branch_that_waits_for_an_inner_branch_stays_in_it():
    def inner(x):
        with v1.control_dependencies([v1.cond(x > 1.0, lambda: x * 2.0, lambda: x - 1.0)]):
            return tf.constant(5.0)

    def build():
        x = v1.placeholder(tf.float32, [], "x")
        v1.cond(x > 0.0, lambda: inner(x), lambda: tf.constant(7.0), name="outer")

    piece = cutter_of(traced(build)).piece(["outer/Merge:0"], ["x:0"])
    assert [computed(piece, [value]) for value in (-1.0, 0.5, 2.0)] == [[7.0], [5.0], [5.0]]
