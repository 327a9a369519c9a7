"""Orders of updates beside a loop that reads their variable, and in the branches of a condition."""

import pytest

from legacy.saved.analysis.order.behind_branches import order_behind_branches
from legacy.saved.analysis.order.ordering import _final_order
from tests.legacy.saved.analysis.order.ordered import ordered
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import ControlDependency
from workloads.support.errors import InputError


def test_an_update_waits_for_the_loop_that_its_variable_enters():
    order = ordered(
        """
        v = VariableV2()
        one = Const()
        update = AssignAdd(v, one)
        enter = Enter(v)
        body = Neg(enter)
        exit = Exit(body)
        """,
        reads={"enter": ["v"]},
        writes={"update": ["v"]},
    )
    assert order.versions == {("enter", "v"): 0}
    assert order.dependencies == [("exit", "update")]  # and none from inside the loop


def test_an_update_waits_for_the_loop_that_a_view_of_its_variable_enters():
    text = """
        v = VariableV2()
        one = Const()
        row = Reshape(v)
        update = AssignAdd(v, one)
        enter = Enter(row)
        body = Neg(enter)
        exit = Exit(body)
        """
    uses = {"reads": {"row": ["v"]}, "writes": {"update": ["v"]}}
    order = ordered(text, **uses, view_uses={"enter": ["v"]})
    assert order.dependencies == [("row", "update"), ("exit", "update")]
    assert ordered(text, **uses).dependencies == [("row", "update")]  # as if `row` were a copy


def test_an_update_behind_the_loop_needs_no_further_dependency():
    order = ordered(
        """
        v = VariableV2()
        enter = Enter(v)
        body = Neg(enter)
        exit = Exit(body)
        update = Assign(v, exit)
        """,
        reads={"enter": ["v"]},
        writes={"update": ["v"]},
    )
    assert order.dependencies == []


BRANCHES = """
    p = Placeholder()
    v = VariableV2()
    w = VariableV2()
    switch = Switch(v, p)
    up = AssignAdd(switch:1)
    down = AssignSub(switch)
    pivot = Identity(switch:1, ^up)
    merge = Merge(pivot, switch)
    read = Neg(v)
    """


def test_updates_in_opposite_branches_race_with_nothing():
    order = ordered(BRANCHES, reads={}, writes={"up": ["v"], "down": ["v"]})
    assert (sorted(order.effects), order.dependencies, order.races) == (["down", "up"], [], [])


def test_what_is_taken_after_a_conditional_update_waits_for_the_end_of_the_branches():
    """A control input from the update itself would keep the read from running where the branch is not taken."""
    order = ordered(BRANCHES, reads={"read": ["w"]}, writes={"up": ["w"]}, rules=["up"])
    assert order.dependencies == [("merge", "read")]


def test_a_read_in_the_opposite_branch_sees_no_update():
    text = BRANCHES + "seen = Neg(switch)"
    order = ordered(text, reads={"seen": ["v"]}, writes={"up": ["v"]})
    assert (order.versions, order.dependencies, order.races) == ({("seen", "v"): 0}, [], [])


def test_a_conditional_update_waits_for_a_read_in_its_own_branch_itself():
    text = BRANCHES + "seen = Neg(switch:1)"
    order = ordered(text, reads={"seen": ["v"]}, writes={"up": ["v"]})
    assert order.dependencies == [("seen", "up")] and len(order.races) == 1


def test_a_read_before_both_of_two_opposite_updates_is_ordered_against_each():
    order = ordered(BRANCHES, reads={"read": ["v"]}, writes={"up": ["v"], "down": ["v"]})
    assert order.versions == {("read", "v"): 0}
    assert sorted(order.dependencies) == [("read", "down"), ("read", "up")]


#: A read in the branch of another condition, whose end the update waits for already.
WAITING = """
    p = Placeholder()
    v = VariableV2()
    x = Placeholder()
    switch = Switch(x, p)
    read = Mul(switch:1, v)
    merge = Merge(switch, read)
    update = AssignAdd(v, merge)
    """


def test_a_read_in_a_branch_is_waited_for_by_way_of_its_end():
    order = ordered(WAITING.replace("(v, merge)", "(v, x)"), reads={"read": ["v"]}, writes={"update": ["v"]})
    assert order.dependencies == [("merge", "update")]
    assert ordered(WAITING, reads={"read": ["v"]}, writes={"update": ["v"]}).dependencies == []


#: The branch's read races with the update, which the end of the branch's `cond` waits for.
LEADS_THERE = WAITING.replace("Merge(switch, read)", "Merge(switch, read, ^update)").replace("(v, merge)", "(v, x)")


def test_an_update_that_the_end_of_the_branches_waits_for_waits_for_the_read_itself():
    order = ordered(LEADS_THERE, reads={"read": ["v"]}, writes={"update": ["v"]})
    assert order.dependencies == [("read", "update")]


#: Two branches: each one's read of a variable comes before an update in the other.
CROSSED = """
    p = Placeholder()
    q = Placeholder()
    x = Placeholder()
    v = VariableV2()
    w = VariableV2()
    switch_p = Switch(x, p)
    switch_q = Switch(x, q)
    read_v = Mul(switch_p:1, v)
    set_w = AssignAdd(w, switch_p:1)
    end_p = Merge(switch_p, read_v, ^set_w)
    read_w = Mul(switch_q:1, w)
    set_v = AssignAdd(v, switch_q:1)
    end_q = Merge(switch_q, read_w, ^set_v)
    """


def test_branches_whose_ends_cannot_wait_for_each_other_wait_for_each_others_reads():
    order = ordered(CROSSED, {"read_v": ["v"], "read_w": ["w"]}, {"set_v": ["v"], "set_w": ["w"]})
    assert set(order.dependencies) == {("read_v", "set_v"), ("read_w", "set_w")}


def test_dependencies_that_contradict_the_graph_are_refused():
    graph = graph_of("x = Placeholder()\n read = Neg(x)\n update = Assign(x, read)")
    assert _final_order(graph, set(graph.nodes), [ControlDependency("read", "update")]) == ["x", "read", "update"]
    with pytest.raises(InputError, match="no order of reads and updates around '.*' satisfies the graph"):
        _final_order(graph, set(graph.nodes), [ControlDependency("update", "read")])


#: A variable that a branch gets by reference, after an update of it.
HANDED_ON = """
    p = Placeholder()
    v = VariableV2()
    one = Const()
    add = AssignAdd(v, one)
    outer = RefSwitch(add, p)
    inner = RefSwitch(outer:1, p)
    seen = Neg(inner:1)
    zero = Assign(v, seen)
    """


def test_a_reference_is_handed_on_with_the_version_that_is_read_behind_it():
    passes = {"outer": ["v"], "inner": ["v"]}
    order = ordered(HANDED_ON, reads={"seen": ["v"]}, writes={"add": ["v"], "zero": ["v"]}, passes=passes)
    assert order.versions == {("seen", "v"): 1, ("inner", "v"): 1, ("outer", "v"): 1}


def test_a_reference_that_nothing_reads_has_no_version():
    order = ordered(HANDED_ON, reads={}, writes={"add": ["v"], "zero": ["v"]}, passes={"outer": ["v"]})
    assert order.versions == {}


def test_an_update_waits_for_a_nested_branch_behind_the_outer_one():
    """A number of steps that a loss scale reads where a `cond` inside of another doubles it."""
    order = ordered(
        """
        p = Placeholder()
        q = Placeholder()
        v = VariableV2()
        one = Const()
        outer = Switch(one, p)
        inner = Switch(outer:1, q)
        use = Mul(inner:1, v)
        other = Neg(inner)
        inner_merge = Merge(other, use)
        merge = Merge(outer, inner_merge)
        update = AssignAdd(v, one)
        """,
        reads={"use": ["v"]},
        writes={"update": ["v"]},
    )
    assert order.dependencies == [("merge", "update")]


#: A third branch beside the crossed ones, whose read an update waits for that no branch has.
BESIDE_CROSSED = (
    CROSSED
    + """
    r = Placeholder()
    u = VariableV2()
    switch_r = Switch(x, r)
    read_u = Mul(switch_r:1, u)
    end_r = Merge(switch_r, read_u)
    set_u = AssignAdd(u, x)
    """
)


def test_only_dependencies_that_close_a_cycle_come_from_inside_of_their_branches():
    """From the read, the update beside the branches would not run where the third branch is not taken."""
    reads = {"read_v": ["v"], "read_w": ["w"], "read_u": ["u"]}
    order = ordered(BESIDE_CROSSED, reads, {"set_v": ["v"], "set_w": ["w"], "set_u": ["u"]})
    assert set(order.dependencies) == {("read_v", "set_v"), ("read_w", "set_w"), ("end_r", "set_u")}


def test_a_cycle_that_no_branch_closes_is_an_error():
    graph = graph_of("x = Placeholder()\n read = Neg(x)\n update = Assign(x, read)")
    with pytest.raises(ValueError):
        order_behind_branches(graph, set(graph.nodes), [ControlDependency("update", "read")])
