"""Hazards of the towers themselves, each with a program that does not have it."""

import pytest

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards import towers
from tests.legacy.saved.graphs import graph_of, saved

TOWERS = """
    v = VariableV2()
    w = VariableV2()
    tower_0/y = Mul(v, w) @ /gpu:0
    gradients/tower_0/y_grad/Mul = MatMul(tower_0/y) @ /gpu:0
    tower_1/y = Mul(v, w) @ /gpu:1
    gradients/tower_1/y_grad/Mul = MatMul(tower_1/y) @ /gpu:1
    sum_v = AddN(gradients/tower_0/y_grad/Mul, gradients/tower_1/y_grad/Mul)
    sum_w = AddN(gradients/tower_0/y_grad/Mul, gradients/tower_1/y_grad/Mul)
    train_v = ApplyGradientDescent(v, sum_v)
    train_w = ApplyGradientDescent(w, sum_w)
    """
G0, G1 = "gradients/tower_0/y_grad/Mul", "gradients/tower_1/y_grad/Mul"


def hazards(check, text):
    """[(id, op, description)] that a check finds."""
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["v", "w"]))
    return [hazard[:3] for hazard in check(whole)]


@pytest.mark.parametrize(
    "check",
    [towers.misplaced_towers, towers.unused_gradients, towers.unshared_variables],
)
@pytest.mark.parametrize("text", [TOWERS, "x = Placeholder()\ny = Neg(x)\n"])
def test_a_correct_program_and_one_without_towers_have_none(check, text):
    assert hazards(check, text) == []


def test_towers_that_compute_on_one_cpu():
    text = TOWERS.replace("/gpu:0", "/device:CPU:0").replace("/gpu:1", "/device:CPU:0")
    found = hazards(towers.misplaced_towers, text)
    assert [(name, op) for name, op, _ in found] == [("TOWER_ON_CPU", G0), ("TOWER_ON_CPU", G1)]
    assert "2 of 2 ops and 1 of 1 matrix products and convolutions (their size is unknown)" in found[0][2]


PRODUCTS = TOWERS.replace("Mul(v, w)", "MatMul(v, w)")


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("/gpu:1", "/gpu:1", []),
        ("/gpu:0", "/cpu:0", [("TOWER_ON_CPU", "tower 0 computes on cpu:0, the others on gpu:1")]),
        (
            "MatMul(v, w) @ /gpu:1",
            "MatMul(v, w) @ /gpu:0",
            [("TOWERS_SHARE_DEVICE", "towers 0, 1 compute on gpu:0, one after the other")],
        ),
        (
            "= MatMul(tower_1/y) @ /gpu:1",
            "= MatMul(tower_1/y) @ /gpu:0",
            [
                (
                    "BACKWARD_ON_ONE_DEVICE",
                    "the forward passes of the 2 towers are on devices of their own, the backward passes all on gpu:0",
                )
            ],
        ),
    ],
)
def test_towers_on_the_wrong_device(old, new, expected):
    found = hazards(towers.misplaced_towers, PRODUCTS.replace(old, new))
    assert [(name, text) for name, _, text in found] == expected


def test_a_layer_on_another_towers_device():
    layer = "tower_1/z = MatMul(tower_1/y) @ /gpu:1\n tower_1/far = MatMul(tower_1/y) @ /gpu:0\n"
    assert hazards(towers.misplaced_towers, PRODUCTS + layer.split("\n")[0]) == []
    (found,) = hazards(towers.misplaced_towers, PRODUCTS + layer)
    assert found[:2] == ("TOWERS_SHARE_DEVICE", "tower_1/far") and "1 of 3 matrix products" in found[2]


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
