"""Tensors that come back into a tower, on a graph whose nodes are labelled by hand."""

import pytest

from legacy.saved.analysis.division.returns import depend_on_sizes_alone, find_returns, owned_inputs
from tests.legacy.saved.analysis.division.labelled_step import STEP, STEP_TOWERS, labelled_step
from workloads.lifted.graph import TensorId

#: Tower 0 takes the sum of both towers' tensors.
TEXT = STEP + "c = RealDiv(a, sum)\n"
TOWERS = dict(STEP_TOWERS, c=0)


def test_a_tensor_that_is_computed_from_both_towers_comes_back():
    graph = labelled_step(TEXT, TOWERS).graph
    assert find_returns(graph, 2, set(graph.nodes), TOWERS, {}) == [[("sum", 0)], []]
    assert find_returns(graph, 2, set(graph.nodes), STEP_TOWERS, {}) == [[], []]  # c is computed once


@pytest.mark.parametrize("scope, comes_back", [("gradients/sub_grad/", True), ("forward/", False)])
def test_the_shape_of_another_towers_input_comes_back_into_a_gradient(scope, comes_back):
    """As the derivative of a difference from other targets takes it; a size of the forward pass is no result."""
    size = f"{scope}Shape = Shape(x1)\nd = Reshape(a, {scope}Shape)\n"
    towers = dict(STEP_TOWERS, d=0)
    graph = labelled_step(STEP + size, towers).graph
    owners = {TensorId("x0", 0): 0, TensorId("x1", 0): 1}
    expected = [[(f"{scope}Shape", 0)], []] if comes_back else [[], []]
    assert find_returns(graph, 2, set(graph.nodes), towers, owners) == expected
    own = labelled_step(STEP + size.replace("x1", "x0"), towers).graph
    assert find_returns(own, 2, set(own.nodes), towers, owners) == [[], []]


def test_a_number_of_the_sizes_of_several_towers_inputs_comes_back_into_each():
    """As the largest number of words, which each tower's loss is divided by; one input's size is a tower's own."""
    text = STEP + "s0 = Size(x0)\ns1 = Size(x1)\nmost = Maximum(s0, s1)\nc = RealDiv(a, most)\nd = RealDiv(b, s0)\n"
    towers = dict(STEP_TOWERS, c=0, d=1)
    graph = labelled_step(text, towers).graph
    owners = {TensorId("x0", 0): 0, TensorId("x1", 0): 1}
    assert find_returns(graph, 2, set(graph.nodes), towers, owners) == [[("most", 0)], []]


def test_an_input_is_owned_by_the_only_tower_that_takes_it():
    step = labelled_step(STEP, STEP_TOWERS)
    assert owned_inputs(step.graph, step.towers, STEP_TOWERS) == {("x0", 0): 0, ("x1", 0): 1}
    shared = labelled_step(STEP.replace("Mul(x1, w)", "Mul(x0, w)"), STEP_TOWERS)
    assert owned_inputs(shared.graph, shared.towers, STEP_TOWERS) == {}


@pytest.mark.parametrize("measure, alone", [("Size", True), ("Shape", True), ("Sum", False)])
def test_the_number_of_all_towers_examples_is_no_result_of_theirs(measure, alone):
    graph = labelled_step(TEXT + f"rows = {measure}(sum)\nshare = Reciprocal(rows)\nd = Mul(b, share)\n", TOWERS).graph
    early = {(("share", 0), 0): {0: TensorId("a", 0), 1: TensorId("b", 0)}}
    assert depend_on_sizes_alone(graph, {TensorId("share", 0)}, early) == alone
    assert not depend_on_sizes_alone(graph, {TensorId("share", 0), TensorId("sum", 0)}, early)
    assert not depend_on_sizes_alone(graph, set(), early)
