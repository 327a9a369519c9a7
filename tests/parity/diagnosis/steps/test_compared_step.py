import numpy as np
import pytest

from parity.diagnosis.steps.compared_step import SAME_ROUNDINGS
from tests.parity.step_records import compared_step, made_up_state, step_record


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("roundings, same", [(0, True), (SAME_ROUNDINGS, True), (SAME_ROUNDINGS + 1, False)])
def test_states_are_the_same_up_to_some_roundings_of_their_type(roundings, same, dtype):
    left = made_up_state({"w": np.array([1.0], dtype)})
    right = made_up_state({"w": np.array([1.0 + roundings * np.finfo(dtype).eps], dtype)})
    assert compared_step(step_record(), left_before=left, right_before=right).same_state is same


def test_weights_of_one_side_alone_do_not_make_states_differ():
    left, right = made_up_state({"w": [1.0], "a": [1.0]}), made_up_state({"w": [1.0], "b": [9.0]})
    assert compared_step(step_record(), left_before=left, right_before=right).same_state


def test_the_losses_of_examples_are_summed():
    record = step_record(losses=[np.float32([0.5, 0.25]), np.float32([1.0, 2.0])])
    assert [float(loss) for loss in compared_step(record).right.losses] == [0.75, 3.0]
