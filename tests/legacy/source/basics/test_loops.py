"""Loops of 1.x taken out of a graph: one op stands for each; counters that count alike are one."""

import pytest
import tensorflow as tf

from legacy.source.basics.branches import GUARDED
from legacy.source.basics.loops import LOOP, take_out_loops
from legacy.source.basics.unwritten import Unwritten

v1 = tf.compat.v1


def graph_of(build):
    """GraphDef of what `build` makes with loops of 1.x."""
    was_v2 = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            build()
        return graph.as_graph_def()
    finally:
        (v1.enable_control_flow_v2 if was_v2 else v1.disable_control_flow_v2)()


def doubling():
    x = v1.placeholder(tf.float32, [3], "x")
    body = lambda turn, state: [turn + 1, state * 2.0 + x]  # noqa: E731
    v1.while_loop(lambda turn, state: turn < 4, body, [0, x], maximum_iterations=4, name="repeat")


def test_one_op_stands_for_a_loop_and_its_results_keep_their_names():
    outside, (loop,) = take_out_loops(graph_of(doubling))
    nodes = {node.name: node for node in outside.node}
    assert loop.name == "repeat" + LOOP and nodes[loop.name].op == "IdentityN"
    assert not {node.op for node in outside.node} & {"Enter", "Switch", "Merge", "NextIteration", "LoopCond", "Exit"}
    assert [nodes[name].op for name in nodes if name.startswith("repeat/Exit")] == ["Identity"] * 3
    assert list(nodes[loop.name].input) == loop.starts + loop.invariants and "x" in loop.invariants


def test_counters_that_count_alike_are_one():
    _, (loop,) = take_out_loops(graph_of(doubling))
    assert len(loop.states) == len(loop.results) == 2  # the number of iterations and the turn are the same


def test_constants_of_a_loop_need_no_control_inputs():
    """Where a graph has been pruned, nothing of the loop leads to them."""
    graph = graph_of(doubling)
    for node in graph.node:
        node.input[:] = [text for text in node.input if not text.startswith("^")]
    _, (loop,) = take_out_loops(graph)
    assert [node.name for node in loop.inside.node if node.name.endswith("mul/y")] == ["repeat/mul/y"]
    tf.import_graph_def(loop.inside, name="")  # every input is there


def test_a_graph_without_loops_stays_as_it_is():
    graph = graph_of(lambda: v1.placeholder(tf.float32, [3], "x") * 2.0)
    assert take_out_loops(graph) == (graph, [])


def derived():
    x = v1.placeholder(tf.float32, [3], "x")
    _, end = v1.while_loop(lambda turn, state: turn < 4, lambda turn, state: [turn + 1, tf.tanh(state)], [0, x])
    tf.gradients(end, [x])


def test_the_derivative_of_a_loop_is_told():
    """It takes what the loop has kept, and no loop of today does."""
    with pytest.raises(Unwritten, match="uses the derivative of a while loop"):
        take_out_loops(graph_of(derived))


def nested():
    inner = lambda state: v1.while_loop(lambda s: s < 3.0, lambda s: s * 2.0, [state], name="inner")  # noqa: E731
    v1.while_loop(lambda s: s < 9.0, inner, [tf.constant(1.0)], name="outer")


def branching():
    choice = lambda s: v1.cond(s > 2.0, lambda: s * 2.0, lambda: s + 1.0)  # noqa: E731
    v1.while_loop(lambda s: s < 9.0, choice, [tf.constant(1.0)], name="outer")


def logarithmic():
    choice = lambda s: v1.cond(s > 2.0, lambda: tf.math.log(s), lambda: s + 1.0)  # noqa: E731
    v1.while_loop(lambda s: s < 9.0, choice, [tf.constant(1.0)], name="outer")


def test_a_branch_in_a_loop_is_a_choice():
    _, (loop,) = take_out_loops(graph_of(branching))
    types = [node.op for node in loop.inside.node]
    assert types.count("SelectV2") == 1 and not {"Switch", "Merge"} & set(types)


def test_a_logarithm_in_a_branch_in_a_loop_is_guarded():
    _, (loop,) = take_out_loops(graph_of(logarithmic))
    (choice,) = [node for node in loop.inside.node if node.op == "SelectV2"]
    assert [name.endswith(b"/Log") for name in choice.attr[GUARDED].list.s] == [True]


def test_a_loop_in_a_loop_is_refused():
    with pytest.raises(Unwritten, match="a loop within a loop"):
        take_out_loops(graph_of(nested))
