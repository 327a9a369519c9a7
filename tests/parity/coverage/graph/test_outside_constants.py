"""Constants of loops, and those that wait: outside the graph computes the same, and other values can be given."""

import numpy as np
import pytest
import tensorflow as tf

from parity.coverage.graph.outside_constants import OUTSIDE, with_constants_outside
from workloads.lifted.graph import Graph

v1 = tf.compat.v1


def powers(body=lambda value, factor: value * factor):
    """A graph of 3 * 2 * 2 * 2, whose factor 2 is a constant inside of a loop; or of another body of the loop."""
    with v1.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        try:
            _, power = v1.while_loop(
                lambda turn, _: turn < 3,
                lambda turn, value: (turn + 1, body(value, tf.constant(2.0, name="factor"))),
                (tf.constant(0), tf.constant(3.0)),
            )
        finally:
            v1.enable_control_flow_v2()
        tf.identity(power, name="power")
        tf.constant(1.0, name="free")
    return graph.as_graph_def()


def run(graph_def, feed):
    with v1.Graph().as_default() as graph:
        v1.import_graph_def(graph_def, name="")
        with v1.Session(graph=graph) as session:
            return session.run("power:0", feed)


def test_a_constant_of_a_loop_can_be_given_another_value_outside():
    before = powers()
    after = with_constants_outside(before)
    assert run(after, {}) == run(before, {}) == 24.0
    assert run(after, {f"while/factor{OUTSIDE}:0": np.float32(4.0)}) == 192.0
    added = {node.name for node in after.node} - {node.name for node in before.node}
    assert added == {f"while/factor{OUTSIDE}", f"while/factor{OUTSIDE}/into_loop"}


def test_a_constant_that_is_the_next_iterations_value_still_ends_with_the_loop():
    before = powers(lambda value, factor: factor)
    after = with_constants_outside(before)
    nodes = {node.name: node for node in after.node}
    waits = [list(nodes[name].input) for name in ("while/factor", "while/NextIteration_1")]
    assert waits == [[f"while/factor{OUTSIDE}/into_loop", "^while/Identity"], ["while/factor"]]
    assert run(after, {}) == run(before, {}) == 2.0
    assert run(after, {f"while/factor{OUTSIDE}:0": np.float32(4.0)}) == 4.0


def counted_after_an_update(value):
    """A step that adds 1.0 to `w`, and then `value` to its counter, by a constant that waits for the sum."""
    with v1.Graph().as_default() as graph:
        w = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32, name="w")
        count = tf.raw_ops.VariableV2(shape=[], dtype=value.dtype, name="count")
        v1.assign(w, 0.0, name="w/start"), v1.assign(count, value * 0, name="count/start")
        with tf.control_dependencies([tf.raw_ops.AssignAdd(ref=w, value=tf.constant(1.0))]):
            step = tf.constant(value, name="value")
        tf.raw_ops.AssignAdd(ref=count, value=step, name="train")
    return graph.as_graph_def()


def trained(graph_def, feed):
    with v1.Graph().as_default() as graph:
        v1.import_graph_def(graph_def, name="")
        with v1.Session(graph=graph) as session:
            session.run(["w/start", "count/start"])
            session.run("train:0", feed)
            return session.run(["w:0", "count:0"])


@pytest.mark.parametrize("value", [np.float32(2.0), np.int64(2)])
def test_a_constant_that_waits_for_an_update_can_be_given_without_leaving_it_out(value):
    before = counted_after_an_update(value)
    after = with_constants_outside(before)
    assert trained(before, {"value:0": value}) == [0.0, 2]  # the update does not run
    assert trained(after, {}) == trained(before, {}) == [1.0, 2]
    assert trained(after, {f"value{OUTSIDE}:0": value * 3}) == [1.0, 6]


def test_constants_that_are_no_numbers_stay():
    with v1.Graph().as_default() as graph, tf.control_dependencies([tf.no_op()]):
        tf.constant([1, 2], name="shape")
        tf.constant("a", name="text")
    before = graph.as_graph_def()
    assert with_constants_outside(before) == before


def chosen(inside):
    """A graph whose `power` is chosen by `late` between 2 and 3, directly or in each turn of a loop."""
    with v1.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        try:
            late = v1.placeholder_with_default(False, [], name="late")

            def choice(predicate):
                return v1.cond(predicate, lambda: tf.constant(2.0, name="two"), lambda: tf.constant(3.0, name="three"))

            if inside == "branch":
                result = choice(late)
            elif inside == "branch of a branch":
                early = v1.placeholder_with_default(True, [], name="early")
                result = v1.cond(early, lambda: choice(late), lambda: tf.constant(5.0, name="five"))
            elif inside == "loop of a branch":

                def loop():
                    return v1.while_loop(
                        lambda turn, _: turn < 3,
                        lambda turn, value: (turn + 1, value * tf.constant(2.0, name="two")),
                        (tf.constant(0), tf.constant(1.0)),
                    )[1]

                result = v1.cond(late, loop, lambda: tf.constant(3.0, name="three"))
            else:  # a branch of a loop
                _, result = v1.while_loop(
                    lambda turn, _: turn < 3,
                    lambda turn, value: (turn + 1, value * choice(late)),
                    (tf.constant(0), tf.constant(1.0)),
                )
        finally:
            v1.enable_control_flow_v2()
        tf.identity(result, name="power")
    return graph.as_graph_def()


def _name(graph_def, end):
    """The node outside for the constant of a name."""
    [name] = [node.name for node in graph_def.node if node.name.endswith(f"{end}{OUTSIDE}")]
    return f"{name}:0"


@pytest.mark.parametrize("inside", ["branch", "branch of a branch", "loop of a branch"])
def test_a_constant_of_a_branch_counts_only_where_the_branch_is_taken(inside):
    before = chosen(inside)
    after = with_constants_outside(before)
    two, three = _name(after, "two"), _name(after, "three")
    for late in (False, True):
        own = run(before, {"late:0": late})
        assert run(after, {"late:0": late}) == own
        changed = [run(after, {"late:0": late, name: np.float32(7.0)}) != own for name in (two, three)]
        assert changed == [late, not late]


def test_what_a_branch_chooses_depends_on_its_predicate():
    before = chosen("branch")
    found = [
        "late" in Graph(graph).ancestors(["power"], controls=False)
        for graph in (before, with_constants_outside(before))
    ]
    assert found == [False, True]


def test_a_constant_of_a_branch_that_is_not_taken_would_be_the_result_if_it_were_given_there():
    """Which is why it is moved."""
    assert 7.0 in {run(chosen("branch"), {"late:0": late, "cond/two:0": np.float32(7.0)}) for late in (False, True)}


def test_constants_of_a_branch_inside_of_a_loop_stay():
    before = chosen("branch of a loop")
    after = with_constants_outside(before)
    assert not [node.name for node in after.node if "two" in node.name and OUTSIDE in node.name]
    assert [run(after, {"late:0": late}) for late in (False, True)] == [27.0, 8.0]
