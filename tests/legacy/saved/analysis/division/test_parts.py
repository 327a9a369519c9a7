"""Division of a step into towers and what is computed once, on graphs whose nodes are labelled by hand."""

import pytest

from legacy.saved.analysis.division.parts import divide_step
from tests.legacy.saved.analysis.division.labelled_step import STEP, STEP_TOWERS, labelled_step


def divided(*arguments, **options):
    """The parts of a step; see `labelled_step`."""
    return divide_step(labelled_step(*arguments, **options))


def test_cuts_and_crossings_enclose_each_tower():
    parts = divided(STEP, STEP_TOWERS)
    assert parts.tower_nodes == {"a": 0, "b": 1}
    assert parts.cuts == [[("x0", 0)], [("x1", 0)]]
    assert parts.common_cuts == []
    assert list(parts.crossings.values()) == [{0: ("a", 0), 1: ("b", 0)}]
    assert parts.returns == [[], []] and not parts.early_crossings and parts.saved_tensors == [[], []]


SCALED = STEP.replace("AddN(a, b)", "AddN(half, b)") + "two = Const()\nhalf = RealDiv(a, two)\n"


@pytest.mark.parametrize(
    "text, constants, losses, released",
    [
        (SCALED, ["two"], [], True),
        (SCALED, [], [], False),  # the divisor is not constant
        (SCALED, ["two"], ["half"], False),  # a loss stays in its tower
        (SCALED.replace("RealDiv(a, two)", "Pow(a, two)"), ["two"], [], False),  # not an op that only scales
        (SCALED.replace("RealDiv(a, two)", "RealDiv(a, a)"), ["two"], [], False),  # two inputs from the tower
        (SCALED + "user = Neg(half)\n", ["two"], [], False),  # the tower itself uses it
    ],
)
def test_a_division_by_a_constant_before_the_average_belongs_to_no_tower(text, constants, losses, released):
    parts = divided(text, dict(STEP_TOWERS, half=0, user=0), constants=constants, losses=losses)
    assert ("half" not in parts.tower_nodes) == released
    (row,) = parts.crossings.values()
    assert row[0] == (("a", 0) if released else ("half", 0))


def test_data_for_what_is_computed_once_are_common_cuts():
    parts = divided(STEP.replace("rate = Const()", "rate = Placeholder()"), STEP_TOWERS)
    assert parts.common_cuts == [("rate", 0)]


def test_a_random_op_before_the_towers_is_no_cut():
    text = STEP.replace("x1 = Placeholder()", "x1 = RandomUniform(shape)\nshape = Placeholder()")
    assert divided(text, STEP_TOWERS).cuts == [[("x0", 0)], [("shape", 0)]]


def test_the_first_towers_tensor_is_alone_where_only_it_updates_a_statistic():
    text = STEP + "m = VariableV2()\nchange = Sub(m, a)\nmove = AssignSub(m, change)\n"
    writes = {"train": ["w"], "move": ["m"]}
    parts = divided(text, dict(STEP_TOWERS, change=0), writes=writes, reads={"change": ["m"]})
    assert "change" not in parts.tower_nodes, "it depends on the moving mean and only updates it"
    assert list(parts.crossings.values()) == [{0: ("a", 0), 1: ("b", 0)}], "each crossing is listed once"
    without_rule = divided(text, dict(STEP_TOWERS, change=0), writes=writes)
    assert without_rule.tower_nodes["change"] == 0, "negative control: it reads no statistic"


RETURN = """
    w = VariableV2()
    rate = Const()
    x0 = Placeholder()
    x1 = Placeholder()
    a = Mul(x0, w)
    b = Mul(x1, w)
    total = AddN(a, b)
    c = RealDiv(a, total)
    d = RealDiv(b, total)
    sum = AddN(c, d)
    train = ApplyGradientDescent(w, rate, sum)
    """
RETURN_TOWERS = {"a": 0, "b": 1, "c": 0, "d": 1}


def test_what_comes_back_into_the_towers_is_a_return():
    parts = divided(RETURN, RETURN_TOWERS)
    assert parts.returns == [[("total", 0)], [("total", 0)]]
    assert list(parts.crossings.values()) == [{0: ("c", 0), 1: ("d", 0)}]
    assert list(parts.early_crossings.values()) == [{0: ("a", 0), 1: ("b", 0)}]
    assert parts.saved_tensors == [[("a", 0)], [("b", 0)]], "kept from before the return for after it"
    assert parts.cuts == [[("x0", 0)], [("x1", 0)]]


def test_a_second_return_is_a_second_exchange():
    text = RETURN.replace("sum = AddN(c, d)", "second = AddN(c, d)\ne = RealDiv(a, second)\nsum = AddN(e, d)")
    first, second = divided(text, dict(RETURN_TOWERS, e=0)).exchanges
    assert first.returns == [[("total", 0)], [("total", 0)]] and second.returns == [[("second", 0)], []]
    assert list(second.early.values()) == [{0: ("c", 0), 1: ("d", 0)}]
    assert len(divided(RETURN, RETURN_TOWERS).exchanges) == 1
