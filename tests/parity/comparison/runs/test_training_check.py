"""A run trains if one of its steps changes a weight by a gradient."""

import pytest

from parity.comparison.runs.training_check import UNTRAINED, TrainingCheck, trains
from tests.parity.step_records import made_up_state, step_record

BEFORE = made_up_state({"w": [1.0]})


def step(after, gradient=None):
    gradients = {} if gradient is None else {"w": [gradient]}
    return step_record(0, [1.0], [gradients], gradients, 0.5, made_up_state({"w": [after]}, step=1))


@pytest.mark.parametrize(
    "after, gradient, expected",
    [(2.0, 1.0, True), (2.0, 0.0, False), (1.0, 1.0, False), (2.0, None, True), (1.0, None, False)],
)
def test_a_step_trains_by_a_change_and_by_a_gradient_if_it_has_any(after, gradient, expected):
    assert trains(step(after, gradient), BEFORE) is expected


def test_one_step_that_trains_is_enough():
    check = TrainingCheck()
    assert check.not_shown() == []  # no step was taken
    check.add(step(1.0, 1.0), BEFORE)
    assert check.not_shown() == [UNTRAINED]
    check.add(step(2.0, 1.0), BEFORE)
    check.add(step(1.0, 1.0), BEFORE)
    assert check.not_shown() == []
