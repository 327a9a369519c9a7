"""Tensors that leave the towers, on graphs whose nodes are labelled by hand."""

import types

from legacy.saved.analysis.division.crossings import find_crossings, tensors_leaving
from tests.legacy.saved.analysis.division.labelled_step import STEP, STEP_TOWERS
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.graph import TensorId

STATE = types.SimpleNamespace(aliases={TensorId("w", 0): "w"})
TRAIN = TensorId("train", 0)


def test_tensors_leaving_come_in_the_order_of_the_inputs_and_once():
    graph = graph_of(STEP.replace("AddN(a, b)", "AddN(b, a, b)"))
    assert tensors_leaving(graph, STATE, "train", STEP_TOWERS) == [("b", 0), ("a", 0)]


def test_matching_crossings_of_the_towers_share_a_key_and_a_crossing_is_listed_with_its_first_end():
    graph = graph_of(STEP + "move = AssignSub(m, a)\nm = VariableV2()\n")
    found = find_crossings(graph, STATE, [TRAIN, TensorId("move", 0)], STEP_TOWERS, {})
    assert found == {(TRAIN, 0): {0: ("a", 0), 1: ("b", 0)}}
    first = find_crossings(graph, STATE, [TensorId("move", 0), TRAIN], STEP_TOWERS, {})
    assert first == {(("move", 0), 0): {0: ("a", 0)}, (TRAIN, 0): {1: ("b", 0)}}


def test_an_input_that_one_tower_owns_is_a_crossing_itself():
    end = TensorId("x1", 0)
    assert find_crossings(graph_of(STEP), STATE, [end], STEP_TOWERS, {end: 1}) == {(end, 0): {1: end}}


def test_an_input_of_one_tower_that_an_update_takes_is_a_crossing():
    graph = graph_of(STEP + "move = ScatterSub(m, x1, a)\nm = VariableV2()\n")
    owned = TensorId("x1", 0)
    assert owned in tensors_leaving(graph, STATE, "move", STEP_TOWERS, {owned})
    assert owned not in tensors_leaving(graph, STATE, "move", STEP_TOWERS)


BRANCH = """
best = VariableV2()
bad = VariableV2()
x = Placeholder()
loss = Square(x)
is_best = Less(loss, best)
chosen = Switch(loss, is_best)
pivot = Switch(is_best, is_best)
taken = Identity(pivot:1)
zero = Const(^taken)
set_best = Assign(best, {value})
set_bad = Assign(bad, zero)
"""
BRANCH_STATE = types.SimpleNamespace(aliases={TensorId("best", 0): "best", TensorId("bad", 0): "bad"})
BRANCH_TOWERS = dict.fromkeys(("x", "loss", "is_best", "chosen", "twice", "kept"), 0)


def test_a_constant_that_is_assigned_in_a_branch_depends_on_the_towers_predicate():
    graph = graph_of(BRANCH.format(value="chosen:1"))
    assert tensors_leaving(graph, BRANCH_STATE, "set_bad", BRANCH_TOWERS) == [("is_best", 0)]


def test_what_enters_a_branch_leaves_the_tower_before_it_where_it_has_a_value_in_every_step():
    graph = graph_of(BRANCH.format(value="chosen:1"))
    assert tensors_leaving(graph, BRANCH_STATE, "set_best", BRANCH_TOWERS) == [("loss", 0), ("is_best", 0)]


def test_what_enters_a_branch_on_the_way_to_an_update_leaves_the_tower_before_it():
    text = "enter = Switch(a, few)\nfew = Const()\nchosen = Merge(enter, other)\nother = Mul(enter:1, b)\n"
    graph = graph_of(STEP.replace("AddN(a, b)", "AddN(chosen, b)") + text)
    assert tensors_leaving(graph, STATE, "train", dict(STEP_TOWERS, enter=0)) == [("a", 0), ("b", 0)]


def test_the_merge_of_a_towers_cond_and_what_it_computes_in_a_branch_are_crossings_themselves():
    computed = graph_of(BRANCH.format(value="twice") + "twice = Neg(chosen:1)\n")
    assert ("twice", 0) in tensors_leaving(computed, BRANCH_STATE, "set_best", BRANCH_TOWERS)
    joined = "kept = Merge(other, other2)\nother = Switch(loss, free)\nother2 = Neg(other:1)\nfree = Placeholder()\n"
    kept = graph_of(BRANCH.format(value="kept") + joined)
    assert ("kept", 0) in tensors_leaving(kept, BRANCH_STATE, "set_best", BRANCH_TOWERS)
