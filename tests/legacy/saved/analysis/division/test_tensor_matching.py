import numpy as np
import pytest

from legacy.saved.analysis.division.tensor_matching import EqualTensors, match_tensors
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.graph import TensorId

#: Two equal towers: loss_k = Square(x_k * w) + noise_k.
TOWERS = """
    w = VariableV2()
    x0 = Placeholder()
    x1 = Placeholder()
    a0 = Mul(x0, w)
    a1 = Mul(x1, w)
    b0 = Square(a0)
    b1 = Square(a1)
    n0 = RandomUniform()
    n1 = RandomUniform()
    loss0 = Add(b0, n0)
    loss1 = Add(b1, n1)
"""
CUTS = {TensorId("x0", 0), TensorId("x1", 0)}


def matched(text=TOWERS, cuts=CUTS, ends=("loss0", "loss1"), **attributes):
    ends = (TensorId(ends[0], 0), TensorId(ends[1], 0))
    return match_tensors(graph_of(text, **attributes), [ends], cuts, {"n0", "n1"})


def test_equal_towers_match_op_by_op():
    found = matched()
    assert found.cuts == {("x0", 0): ("x1", 0)}
    assert found.random == {"n0": "n1"}
    assert found.differences == []


def test_another_op_is_a_difference_and_nothing_behind_it_is_matched():
    found = matched(TOWERS.replace("b1 = Square", "b1 = Neg"))
    assert found.differences == ["b0 (Square) against b1 (Neg)"]
    assert found.cuts == {} and found.random == {"n0": "n1"}


def test_another_attribute_is_a_difference_but_placement_and_seeds_are_not():
    assert matched(a0={"transpose": True}, a1={"transpose": False}).differences == [
        "a0 (Mul, transpose=True) against a1 (Mul, transpose=False)"
    ]
    assert matched(a0={"transpose": True}).differences == ["a0 (Mul) against a1 (Mul)"]
    assert matched(n0={"seed": 1}, n1={"seed": 2}, a0={"_class": "tower_0"}).differences == []
    assert matched(a0={"_XlaScope": "function_gradients"}, a1={"_XlaScope": "function_gradients_1"}).differences == []


@pytest.mark.parametrize("name", ["CustomGradient-", "FlipGradient"])
def test_custom_gradients_are_registered_by_a_name_for_each_call(name):
    names = [{"_gradient_op_type": f"{name}{number}"} for number in (9, 12)]
    assert matched(a0=names[0], a1=names[1]).differences == []
    other = {"_gradient_op_type": "MyGradient"}
    assert matched(a0=names[0], a1=other).differences == ["a0 (Mul) against a1 (Mul)"]


def test_another_number_of_inputs_is_a_difference_but_the_common_ones_are_matched():
    found = matched(TOWERS.replace("b1, n1)", "b1, n1, w)"))
    assert found.differences == ["loss0 takes 2 inputs, loss1 3"]
    assert found.cuts == {("x0", 0): ("x1", 0)}


def test_another_output_of_the_same_op_is_a_difference():
    found = matched(TOWERS.replace("Square(a1)", "Square(a1:1)"))
    assert found.differences == ["a0 (Mul) against a1 (Mul)"]


def test_a_tensor_that_matches_several_keeps_the_first():
    text = "x0 = Placeholder()\n x1 = Placeholder()\n y1 = Placeholder()\n e0 = Add(x0, x0)\n e1 = Add(x1, y1)"
    cuts = {TensorId(name, 0) for name in ("x0", "x1", "y1")}
    assert matched(text, cuts, ("e0", "e1")).cuts == {("x0", 0): ("x1", 0)}


def test_a_copy_in_one_tower_alone_is_no_difference():
    text = TOWERS.replace("Square(a1)", "Square(copy)") + "\n copy = Identity(a1)"
    assert matched(text).differences == []
    assert matched(text.replace("Identity(a1)", "Neg(a1)")).differences


def are_equal(text, first="b0", other="b1", equal=None):
    tensors = EqualTensors(graph_of(text), CUTS) if equal is None else equal
    return tensors.are_equal(TensorId(first, 0), TensorId(other, 0))


def test_tensors_that_the_same_ops_make_from_corresponding_cuts_are_equal():
    assert are_equal(TOWERS) and not are_equal(TOWERS.replace("b1 = Square", "b1 = Neg"))
    assert not are_equal(TOWERS.replace("Square(a1)", "Square(a1:1)"))
    assert not are_equal(TOWERS.replace("Mul(x1, w)", "Mul(x1, w, w)"))


def test_a_copy_in_one_tower_is_equal_to_what_it_copies():
    text = TOWERS.replace("Square(a1)", "Square(copy)") + "\n copy = Identity(a1)"
    assert are_equal(text) and not are_equal(text.replace("Identity(a1)", "Neg(a1)"))


def test_what_was_found_equal_is_not_searched_again(monkeypatch):
    graph = graph_of(TOWERS)
    tensors, looked_at = EqualTensors(graph, CUTS), []
    assert are_equal(TOWERS, "b0", "b1", tensors)
    inputs = graph.inputs
    monkeypatch.setattr(graph, "inputs", lambda name: looked_at.append(name) or inputs(name))
    assert are_equal(TOWERS, "b0", "b1", tensors) and looked_at == []
    assert not are_equal(TOWERS, "b0", "n1", tensors) and looked_at == ["b0", "n1"]


def test_constants_that_differ_are_given():
    numbers = {f"b{tower}": {"value": np.array(0.5 + tower, np.float32)} for tower in range(2)}
    found = matched(TOWERS.replace("Square(a0)", "Const()").replace("Square(a1)", "Const()"), **numbers)
    assert found.differences == ["b0 (Const, 0.5) against b1 (Const, 1.5)"]


def test_two_terms_in_the_other_order_are_the_same_sum():
    found = matched(TOWERS.replace("Add(b1, n1)", "Add(n1, b1)"))
    assert found.differences == [] and found.cuts == {("x0", 0): ("x1", 0)}
    turned = TOWERS.replace("= Add(b0, n0)", "= Sub(b0, n0)").replace("= Add(b1, n1)", "= Sub(n1, b1)")
    assert matched(turned).differences == ["b0 (Square) against n1 (RandomUniform)"] * 1 + [
        "n0 (RandomUniform) against b1 (Square)"
    ]


#: Two towers, and the gradients that leave them: a sum of two terms, of weights that both take.
SUMS = """
    v = VariableV2()
    w = VariableV2()
    x0 = Placeholder()
    x1 = Placeholder()
    p0 = Mul(x0, v)
    q0 = Mul(x0, w)
    p1 = Mul(x1, v)
    q1 = Mul(x1, w)
    loss0 = Sub(p0, q0)
    loss1 = Sub(p1, q1)
    gradients/h0_grad/one = MatMul(x0, v)
    gradients/h0_grad/two = MatMul(x0, w)
    gradients_1/h1_grad/one = MatMul(x1, v)
    gradients_1/h1_grad/two = MatMul(x1, w)
    g0 = AddN(gradients/h0_grad/one, gradients/h0_grad/two)
    g1 = AddN(gradients_1/h1_grad/one, gradients_1/h1_grad/two)
"""


def matched_sums(text, of_both=("v", "w")):
    ends = [(TensorId(f"{name}0", 0), TensorId(f"{name}1", 0)) for name in ("g", "loss")]
    return match_tensors(graph_of(text), ends, CUTS, (), {TensorId(name, 0) for name in of_both})


IN_ANOTHER_ORDER = SUMS.replace(
    "AddN(gradients_1/h1_grad/one, gradients_1/h1_grad/two)", "AddN(gradients_1/h1_grad/two, gradients_1/h1_grad/one)"
)


def test_a_sum_in_another_order_is_a_difference_of_what_it_adds_and_pairs_no_weights():
    found = matched_sums(IN_ANOTHER_ORDER)
    assert found.differences == [
        "gradients/h0_grad/one (MatMul) against gradients_1/h1_grad/two (MatMul)",
        "gradients/h0_grad/two (MatMul) against gradients_1/h1_grad/one (MatMul)",
    ]
    assert found.firsts[TensorId("v", 0)] == ("v", 0) and found.firsts[TensorId("w", 0)] == ("w", 0)
    assert matched_sums(SUMS).differences == []


def test_weights_that_the_losses_do_not_take_in_the_same_place_are_paired():
    """As of two models that teach each other."""
    found = matched_sums(IN_ANOTHER_ORDER, of_both=())
    assert found.firsts[TensorId("w", 0)] == ("v", 0) and found.firsts[TensorId("v", 0)] == ("w", 0)
    assert found.differences == []
