"""Units of rounding: the magnitude that each tensor's own operations round relative to."""

import numpy as np

from parity.comparison import stages
from parity.confirmation.injected_port import UserStep
from parity.confirmation.rounding_units import CHANGE_ROUNDINGS, Rules, magnitude, units_of_tensor
from tests.parity.step_records import made_up_state, step_record
from workloads import optimizers

RULES = Rules(optimizers.GradientDescent())


def units(stage, mine, other, before=None, after=None, **record):
    user = UserStep(made_up_state(**(before or {})), step_record(state=made_up_state(**(after or {})), **record))
    return units_of_tensor(stage, "w", np.asarray(mine), np.asarray(other), user, RULES)


def test_elements_are_measured_by_themselves_and_texts_by_one():
    assert magnitude(np.array([-2.0, 0.5])).tolist() == [2.0, 0.5]
    assert float(magnitude(np.array(["a"]))) == 1.0
    assert float(units(stages.BATCH, "a", "b")) == 1.0


def test_a_weight_rounds_with_itself_and_with_its_change():
    found = units(stages.WEIGHTS, [1.5], [1.5], {"weights": {"w": [1.0]}}, {"weights": {"w": [1.5]}})
    assert found.tolist() == [1.5 + CHANGE_ROUNDINGS * 0.5]


def test_a_mean_of_gradients_that_cancel_rounds_with_the_gradients():
    gradients = [{"w": np.array([8.0])}, {"w": np.array([-7.0])}]
    assert float(units(stages.COMBINED, [0.5], [0.5], gradients=gradients)) == 0.5 * 8.0 / 0.5


def test_a_loss_rounds_with_the_larger_of_both():
    assert float(units(stages.LOSS, 3.0, -4.0)) == 4.0
