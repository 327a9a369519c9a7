"""Hazards of what towers share, each with a program that does not have it."""

import pytest

from legacy.saved.hazards import placement, towers
from tests.legacy.saved.hazards.two_towers import G0, G1, TOWERS, hazards


@pytest.mark.parametrize(
    "check",
    [placement.misplaced_towers, towers.unused_gradients, towers.unshared_variables],
)
@pytest.mark.parametrize("text", [TOWERS, "x = Placeholder()\ny = Neg(x)\n"])
def test_a_correct_program_and_one_without_towers_have_none(check, text):
    assert hazards(check, text) == []


def test_gradients_that_no_op_applies():
    text = TOWERS.replace("ApplyGradientDescent", "NoUpdate")
    (found,) = hazards(towers.unused_gradients, text)
    assert found == ("GRADIENTS_NOT_APPLIED", G0, "2 towers compute gradients and no op updates a variable with them")


def test_a_tower_whose_gradients_are_dropped():
    found = hazards(towers.unused_gradients, TOWERS.replace(f"AddN({G0}, {G1})", f"Identity({G1})"))
    assert [(name, op) for name, op, _ in found] == [("GRADIENTS_DROPPED", G0)]
    assert found[0][2].startswith("none of the 1 ops of tower 0's backward pass reaches an update op")


def test_a_variable_that_one_towers_gradients_reach():
    (found,) = hazards(towers.unused_gradients, TOWERS.replace(f"sum_w = AddN({G0}, {G1})", f"sum_w = Neg({G1})"))
    assert found == ("GRADIENTS_DROPPED", "train_w", "1 variable (w) get the gradients of tower 1 only")


def test_towers_that_each_train_variables_of_their_own():
    text = TOWERS.replace(f"sum_w = AddN({G0}, {G1})", f"sum_w = Neg({G1})")
    text = text.replace(f"sum_v = AddN({G0}, {G1})", f"sum_v = Neg({G0})")
    found = hazards(towers.unused_gradients, text)
    assert [(name, op) for name, op, _ in found] == [
        ("TOWERS_UPDATE_ALONE", "train_v"),
        ("TOWERS_UPDATE_ALONE", "train_w"),
    ]


def test_variables_that_each_tower_has_for_itself():
    text = TOWERS.replace("tower_0/y = Mul(v, w)", "tower_0/y = Neg(v)")
    text = text.replace("tower_1/y = Mul(v, w)", "read = Identity(w)\ntower_1/y = Neg(read)")
    text = text.replace("train_w = ApplyGradientDescent(w, sum_w)", "")  # the average is applied to tower 0's own
    (found,) = hazards(towers.unshared_variables, text)
    assert found[:2] == ("VARIABLES_NOT_SHARED", "v") and found[2].startswith("every tower has 1 variable of its own")


def test_a_variable_that_one_tower_reads():
    (found,) = hazards(towers.unshared_variables, TOWERS.replace("tower_0/y = Mul(v, w)", "tower_0/y = Neg(v)"))
    assert found == ("VARIABLE_OF_SOME_TOWERS", "w", "read by tower 1 of 2 only")


def test_an_assignment_in_a_tower_is_no_read():
    text = TOWERS.replace("tower_0/y = Mul(v, w)", "tower_0/y = Neg(v)\ntower_0/init = Assign(w, v)")
    (found,) = hazards(towers.unshared_variables, text)
    assert found[2] == "read by tower 1 of 2 only"


def test_towers_that_each_update_the_same_variables():
    text = TOWERS.replace(f"sum_w = AddN({G0}, {G1})", f"sum_w = Neg({G1})")
    text = text.replace(f"sum_v = AddN({G0}, {G1})", f"sum_v = Neg({G0})").replace("(w, sum_w)", "(v, sum_w)")
    (found,) = hazards(towers.unused_gradients, text)
    assert found[:2] == ("TOWERS_UPDATE_ALONE", "train_v")
    assert found[2].startswith("each of the 2 towers updates 1 variable (v) by itself: 2 updates a step")


COPIES = TOWERS.replace("tower_0/y = Mul(v, w)", "tower_0/y = Mul(v)").replace(
    "tower_1/y = Mul(v, w)", "tower_1/y = Mul(w)"
)


def test_copies_of_a_model_that_all_towers_gradients_update_are_shared_by_hand():
    assert hazards(towers.unshared_variables, COPIES) == []
    alone = COPIES.replace(f"AddN({G0}, {G1})", f"AddN({G0})", 1)
    assert [found[0] for found in hazards(towers.unshared_variables, alone)] == ["VARIABLES_NOT_SHARED"]
