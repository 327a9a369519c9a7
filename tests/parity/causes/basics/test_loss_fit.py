import pytest

from parity.causes.basics.loss_fit import LossFit, fit_loss, shown_losses
from tests.parity.step_records import compared_step, made_up_evidence, step_record

# The weights are w = [1, 2]: the penalty of a decay of 0.5 is 0.5 * 5 / 2.
PENALTY = 1.25


def fit(left, right, factors=(), decay=None):
    steps = [compared_step(step_record(losses=left), step_record(losses=right))]
    return fit_loss(made_up_evidence(steps), factors, decay)


@pytest.mark.parametrize(
    "right, expected",
    [
        ([2.0, 4.0], LossFit(1.0, 0.0)),
        ([4.0, 8.0], LossFit(2.0, 0.0)),
        ([2.0 + PENALTY, 4.0 + PENALTY], LossFit(1.0, 1.0)),
        ([4.0 + PENALTY, 8.0 + PENALTY], LossFit(2.0, 1.0)),
    ],
)
def test_the_factor_and_the_penalty_are_distinguished(right, expected):
    assert fit([2.0, 4.0], right, [2.0], {"w": [0.5, 0.5]}) == expected


def test_a_factor_that_no_gradient_has_is_none_of_the_losses():
    assert fit([2.0, 4.0], [6.0, 12.0]) == LossFit(1.0, 0.0)
    assert fit([2.0, 4.0], [6.0, 12.0], [3.0]) == LossFit(3.0, 0.0)


def test_the_penalty_is_each_replicas_own():
    step = compared_step(step_record(losses=[1.0, 2.0]), step_record(losses=[3.0, 4.0]))
    assert shown_losses(step, {"w": [0.5, 0.0]}) == [(1.0, 3.0, PENALTY), (2.0, 4.0, 0.0)]


def test_losses_that_are_no_numbers_decide_nothing():
    assert fit([2.0, float("nan")], [2.0, float("nan")]) == LossFit(1.0, 0.0)
