import numpy as np
import pytest

from parity.diagnosis.steps.compared_step import SAME_STATE
from tests.parity.step_records import compared_step, made_up_state, step_record


@pytest.mark.parametrize("gap, same", [(0.0, True), (0.5 * SAME_STATE, True), (2 * SAME_STATE, False)])
def test_states_are_the_same_up_to_the_threshold(gap, same):
    left = made_up_state({"w": np.array([1.0])})
    right = made_up_state({"w": np.array([1.0 + gap])})
    assert compared_step(step_record(), left_before=left, right_before=right).same_state is same


def test_weights_of_one_side_alone_do_not_make_states_differ():
    left, right = made_up_state({"w": [1.0], "a": [1.0]}), made_up_state({"w": [1.0], "b": [9.0]})
    assert compared_step(step_record(), left_before=left, right_before=right).same_state
