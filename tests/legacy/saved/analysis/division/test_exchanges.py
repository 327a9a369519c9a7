"""Exchanges of results between towers, on graphs whose nodes are labelled by hand."""

import pytest

from legacy.saved.analysis.division.exchanges import exchanges_before, find_exchanges
from tests.legacy.saved.analysis.division.labelled_step import STEP, STEP_TOWERS, labelled_step
from workloads.lifted.graph import TensorId
from workloads.support.errors import InputError

#: Both towers take the sum of both towers' tensors, and the product of what they make of it.
TEXT = (
    STEP
    + """
    c = RealDiv(a, sum)
    d = RealDiv(b, sum)
    product = Mul(c, d)
    e = Sub(a, product)
    f = Sub(d, product)
"""
)
TOWERS = dict(STEP_TOWERS, c=0, d=1, e=0, f=1)
RETURNS = [[TensorId("sum", 0), TensorId("product", 0)]] * 2
EARLY = {
    (TensorId("sum", 0), 0): {0: TensorId("a", 0), 1: TensorId("b", 0)},
    (TensorId("product", 0), 0): {0: TensorId("c", 0), 1: TensorId("d", 0)},
}


def found(text=TEXT, towers=TOWERS, returns=RETURNS, early=EARLY):
    graph = labelled_step(text, towers).graph
    return find_exchanges(graph, set(graph.nodes), towers, returns, early)


def test_results_are_exchanged_as_often_as_they_depend_on_each_other():
    first, second = found()
    assert list(first.early.values()) == [{0: ("a", 0), 1: ("b", 0)}]
    assert list(second.early.values()) == [{0: ("c", 0), 1: ("d", 0)}]
    assert first.returns == [[("sum", 0)]] * 2 and second.returns == [[("product", 0)]] * 2
    assert first.saved == [[("a", 0)], [("b", 0)]], "e takes a, past the second exchange"
    assert second.saved == [[], [("d", 0)]], "a was kept before"


def test_results_that_wait_for_no_other_ones_are_exchanged_together():
    text = TEXT.replace("Mul(c, d)", "Mul(a, b)")
    early = {end: {0: TensorId("a", 0), 1: TensorId("b", 0)} for end in EARLY}
    (only,) = found(text, early=early)
    assert only.returns == RETURNS
    assert found(returns=[[], []], early={}) == []


def test_towers_that_wait_for_each_other_in_turn_leave_for_exchanges_of_their_own():
    """Tower 1 takes what tower 0 makes of its result."""
    text = STEP + "c = RealDiv(a, b)\nd = RealDiv(b, c)\n"
    returns = [[TensorId("b", 0)], [TensorId("c", 0)]]
    early = {(TensorId("b", 0), 0): {1: TensorId("b", 0), 0: TensorId("c", 0)}}
    first, second = found(text, dict(STEP_TOWERS, c=0, d=1), returns, early)
    assert list(first.early.values()) == [{1: ("b", 0)}] and list(second.early.values()) == [{0: ("c", 0)}]
    assert first.returns == [[("b", 0)], []] and second.returns == [[], [("c", 0)]]
    assert first.saved == [[("a", 0)], [("b", 0)]]


@pytest.mark.parametrize("again, repeats", [("next", True), ("a", False)])
def test_an_exchange_in_each_iteration_of_a_loop_is_refused(again, repeats):
    loop = f"turn = Merge(a, {again})\nother = Neg(turn)\nback = RealDiv(other, b)\nnext = NextIteration(back)\n"
    graph = labelled_step(STEP + loop, dict(STEP_TOWERS, turn=0, other=1, back=0)).graph
    towers, returns = dict(STEP_TOWERS, turn=0, other=1, back=0), [[TensorId("other", 0)], [TensorId("turn", 0)]]
    if repeats:
        with pytest.raises(InputError, match="exchanges results in each iteration of a loop"):
            exchanges_before(graph, set(graph.nodes), towers, returns)
    else:
        assert exchanges_before(graph, set(graph.nodes), towers, returns) == {"other": 1, "back": 2, "next": 2}


@pytest.mark.parametrize("kind, is_kept", [("TensorArrayGradV3", False), ("StackV2", False), ("Tanh", True)])
def test_arrays_and_stacks_of_a_loop_are_not_kept_over_the_exchange(kind, is_kept):
    """They last as long as one run, and the gradient behind the exchange would find zeros."""
    text = TEXT + f"array = {kind}(a)\ng = Mul(c, array)\n"
    first, _ = found(text, dict(TOWERS, array=0, g=0))
    assert set(first.saved[0]) == {("a", 0), *([("array", 0)] if is_kept else [])}
