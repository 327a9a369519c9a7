"""Steps of an update: what reads a changed variable comes after the change, what reads it unchanged before the next."""

import doctest

import pytest

from legacy.source.basics.unwritten import Unwritten
from legacy.source.update.changes import actions, waves
from legacy.source.update.changes.actions import Action, exclude_each_other, order_of
from legacy.source.update.changes.waves import Branches, Wave, effects_of
from workloads.lifted.plan import Condition, Effect

YES, NO = Condition("p:0", True), Condition("p:0", False)


def change(name, variable, reads=(), path=()):
    effect = Effect(name, "Assign", [variable], [], condition=path[-1] if path else None, around=list(path[:-1]))
    return Action(name, tuple(path), frozenset(reads), effect)


def predicate(name, reads=(), path=()):
    return Action(name, tuple(path), frozenset(reads), predicate=name)


def names_of(steps):
    """Changes of each step; of branches, (predicate, steps where true, steps where false)."""
    return [
        (step.predicate, names_of(step.when_true), names_of(step.when_false))
        if isinstance(step, Branches)
        else [effect.node for unit in step.units for effect in unit.effects]
        for step in steps
    ]


def steps(*found):
    return waves._steps(found, 0, order_of(found), {})


def test_a_read_comes_after_the_changes_that_it_sees_and_before_the_next():
    made = steps(change("a", "v"), change("b", "w", [("v", 1)]), change("c", "v"))
    assert names_of(made) == [["a"], ["b"], ["c"]]
    made = steps(change("a", "v"), change("b", "w"), change("c", "v"))
    assert names_of(made) == [["a", "c", "b"]]  # by variable


def test_both_branches_of_a_predicate_are_one_step_after_what_the_predicate_reads():
    made = steps(
        change("a", "v"),
        predicate("p:0", [("v", 1)]),
        change("b", "w", path=[YES]),
        change("c", "u"),
        change("d", "w", path=[NO]),
        change("e", "u", [("w", 2)]),
    )
    assert names_of(made) == [["a", "c"], ("p:0", [["b"]], [["d"]]), ["e"]]
    assert [effect.node for effect in effects_of(made)] == ["a", "c", "b", "d", "e"]


def test_a_branch_within_a_branch_is_a_step_of_it():
    inner = Condition("q:0", True)
    made = steps(
        predicate("p:0"),
        change("a", "v", path=[YES]),
        predicate("q:0", [("v", 1)], path=[YES]),
        change("b", "w", path=[YES, inner]),
    )
    assert names_of(made) == [("p:0", [["a"], ("q:0", [["b"]], [])], [])]


def test_a_change_after_the_predicate_waits_for_it():
    made = steps(
        change("a", "v"), predicate("p:0", [("v", 1)]), change("b", "v", path=[YES]), change("c", "w", [("v", 1)])
    )
    assert names_of(made) == [["a"], ["c"], ("p:0", [["b"]], [])]
    made = steps(change("a", "v"), predicate("p:0", [("v", 1)]), change("b", "w", path=[YES]), change("c", "v"))
    assert names_of(made) == [["a"], ("p:0", [["b"]], []), ["c"]]


def test_a_branch_that_is_needed_by_turns_is_refused():
    turns = [
        predicate("p:0"),
        change("a", "v", path=[YES]),
        change("b", "w", [("v", 1)]),
        change("c", "u", [("w", 1)], path=[YES]),
    ]
    with pytest.raises(Unwritten, match="updates: changes in branches depend on each other's results by turns"):
        steps(*turns)


def test_opposite_branches_exclude_each_other_and_others_do_not():
    assert exclude_each_other([YES], [NO]) and not exclude_each_other([YES], [YES, Condition("q:0", False)])
    assert doctest.testmod(actions).failed == 0


def test_changes_of_an_excluded_branch_make_no_order():
    order = order_of([predicate("p:0"), change("a", "v", path=[NO]), change("b", "v", path=[YES])])
    assert order.strict["b"] == {"p:0"} and not order.weak["b"]
    assert waves._units([], {}) == [] and Wave([]).units == []
