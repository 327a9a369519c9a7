"""Orders of one read and one update of a variable, on graphs of a few nodes whose races are counted by hand."""

import pytest

from legacy.saved.analysis.order.race_choices import RaceChoices
from tests.legacy.saved.analysis.order.ordered import ordered
from workloads.lifted.plan import Race


def test_a_read_that_the_update_needs_comes_before_it():
    order = ordered(
        """
        v = VariableV2()
        new = Neg(v)
        update = Assign(v, new)
        """,
        reads={"new": ["v"]},
        writes={"update": ["v"]},
    )
    assert order == (["update"], {("new", "v"): 0}, [], [])


def test_a_read_behind_a_control_dependency_comes_after_the_update():
    order = ordered(
        """
        v = VariableV2()
        update = AssignAdd(v, one)
        one = Const()
        read = Neg(v, ^update)
        """,
        reads={"read": ["v"]},
        writes={"update": ["v"]},
    )
    assert order == (["update"], {("read", "v"): 1}, [], [])


def test_a_racing_read_comes_before_the_update_by_an_added_dependency():
    order = ordered(
        """
        v = VariableV2()
        one = Const()
        update = AssignAdd(v, one)
        read = Neg(v)
        """,
        reads={"read": ["v"]},
        writes={"update": ["v"]},
    )
    assert order.versions == {("read", "v"): 0}
    assert order.dependencies == [("read", "update")]
    assert order.races == [Race("v", "read", "update", reader="read")]


@pytest.mark.parametrize("update, is_race", [("v/carry", False), ("w/carry", True)])
def test_a_read_of_what_the_program_feeds_comes_first_in_any_case(update, is_race):
    """The session takes a feed for the whole run; `RaceChoices` cannot put a read behind it."""
    order = ordered(
        f"v = VariableV2()\none = Const()\n{update} = Assign(v, one)\nread = Neg(v)",
        reads={"read": ["v"]},
        writes={update: ["v"]},
        choices=RaceChoices(late_readers=("read",)),
    )
    assert order.versions == {("read", "v"): int(is_race)} and bool(order.races) == is_race


def test_a_handle_that_is_handed_on_is_no_race_but_still_ordered():
    order = ordered(
        """
        v = VarHandleOp()
        update = AssignAddVariableOp(v, one)
        one = Const()
        read = Identity(v)
        """,
        reads={"read": ["v"]},
        writes={"update": ["v"]},
    )
    assert (order.dependencies, order.races) == ([("read", "update")], [])
