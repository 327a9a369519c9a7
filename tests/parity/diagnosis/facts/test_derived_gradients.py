import numpy as np
import pytest

from parity.diagnosis.facts.derived_gradients import derive_combined_gradients
from tests.parity.step_records import made_up_state
from workloads import optimizers

EPS = 2.0**-23


def derive(rule, before=None, after=None, learning_rate=0.5):
    """The gradient derived from two states of one weight; `before` and `after` are slots, or the weight's value."""

    def state(values):
        return made_up_state({"w": values.get("weight", [1.0])}, slots={k: v for k, v in values.items() if "/" in k})

    return derive_combined_gradients(rule, state(before or {}), state(after or {}), learning_rate, EPS)


@pytest.mark.parametrize(
    "rule, before, after",
    [
        (optimizers.GradientDescent(), {"weight": [1.0]}, {"weight": [-1.0]}),  # 1 - 0.5 x 4
        (optimizers.Momentum(0.5), {"w/momentum": [8.0]}, {"w/momentum": [8.0]}),  # 0.5 x 8 + 4
        (
            optimizers.Adam(0.5, 0.5),
            {"w/m": [2.0], "w/v": [0.0]},
            {"w/m": [3.0], "w/v": [8.0]},
        ),  # 0.5 x 2 + 0.5 x 4
    ],
)
def test_the_gradient_is_what_the_rule_must_have_received(rule, before, after):
    assert derive(rule, before, after).combined["w"] == [4.0]


def test_noise_is_the_rounding_of_the_larger_numbers():
    found = derive(optimizers.GradientDescent(), {"weight": [64.0]}, {"weight": [63.0]})
    assert found.combined["w"] == [2.0]
    assert found.noise == 4 * EPS * 128.0 / 2.0  # 64 / 0.5 beside a gradient of 2


def test_a_state_that_did_not_move_has_a_zero_gradient_and_no_noise():
    found = derive(optimizers.GradientDescent(), {"weight": [64.0]}, {"weight": [64.0]})
    assert found.combined["w"] == [0.0]
    assert found.noise == 0.0


@pytest.mark.parametrize(
    "rule, learning_rate",
    [
        (None, 0.5),
        (optimizers.RMSProp(), 0.5),  # a mean square does not tell the gradient's sign
        (optimizers.Momentum(), 0.5),  # the slot is not recorded
        (optimizers.GradientDescent(), None),
        (optimizers.GradientDescent(), 0.0),
    ],
)
def test_a_gradient_that_cannot_be_worked_out_is_empty(rule, learning_rate):
    found = derive(rule, learning_rate=learning_rate)
    assert found.combined == {}
    assert found.noise == 0.0


def test_weights_of_one_side_of_the_step_alone_are_left_out():
    before, after = made_up_state({"w": [1.0], "a": [1.0]}), made_up_state({"w": [0.5], "b": [1.0]})
    found = derive_combined_gradients(optimizers.GradientDescent(), before, after, 0.5, EPS)
    np.testing.assert_equal(found.combined, {"w": np.array([1.0])})
