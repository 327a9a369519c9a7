"""Penalties that no name or op type tells, such as of the products of a matrix with itself."""

import pytest

from tests.legacy.saved.hazards.penalties.test_counts import PENALTY, found

ONE_TOWER = PENALTY.replace("AddN(tower_1/l2, tower_1/data)", "AddN(tower_1/data, tower_1/data)")


def penalized(text, *lines):
    """The program with other penalties: lines that make the node "p" of each tower."""
    for tower in range(2):
        own = "\n    ".join(line.replace("T/", f"tower_{tower}/") for line in lines)
        text = text.replace(f"tower_{tower}/l2 = L2Loss(w)", own)
    return text


ORTHOGONAL = ("T/product = MatMul(w, w)", "T/square = Square(T/product)", "T/l2 = Sum(T/square, scale)")


def test_a_penalty_on_products_that_one_tower_has_counts_half():
    ((name, op, text),) = found(penalized(ONE_TOWER, *ORTHOGONAL))
    assert (name, op) == ("REGULARIZATION_ONCE", "tower_0/l2")
    assert "1 variable (w): terms in each tower's loss: 1, 0; averaged over 2 towers it counts 0.5 times" in text


@pytest.mark.parametrize(
    "program, lines",
    [
        (PENALTY, ORTHOGONAL),
        (ONE_TOWER, ("T/noise = RandomStandardNormal(scale)", "T/p = Mul(w, T/noise)", "T/l2 = Sum(T/p, scale)")),
        (ONE_TOWER, ("T/old = VariableV2()", "T/p = SquaredDifference(w, T/old)", "T/l2 = Sum(T/p, scale)")),
        (ONE_TOWER, ("T/x = Placeholder()", "T/p = Mul(w, T/x)", "T/l2 = Sum(T/p, scale)")),
        (ONE_TOWER, ("T/l2 = Exp(w)",)),
    ],
)
def test_one_of_every_tower_or_of_more_than_weights_is_no_hazard(program, lines):
    assert found(penalized(program, *lines)) == []
