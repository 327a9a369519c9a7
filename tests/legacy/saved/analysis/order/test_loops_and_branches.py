"""Orders of updates beside a loop that reads their variable, and in the branches of a condition."""

from tests.legacy.saved.analysis.order.ordered import ordered


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
