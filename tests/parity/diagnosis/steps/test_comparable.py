"""Two recordings line up in names, dtypes and shapes, or are refused in one line."""

import dataclasses

import numpy as np
import pytest

from parity.diagnosis.steps.comparable import comparable_record, require_comparable_states, uncompared_weights
from tests.parity.step_records import step_record
from workloads.program import State
from workloads.support.errors import InputError


def state(**weights):
    """A state of weights only."""
    return State(0, weights, {}, {}, {})


def test_one_name_has_one_dtype_and_shape():
    left = state(w=np.zeros(2, np.float32))
    require_comparable_states("b.npz", left, state(w=np.ones(2, np.float32)))
    for other in (np.zeros(2), np.zeros(2, np.float16), np.zeros((2, 1), np.float32), np.zeros(1, np.float32)):
        with pytest.raises(InputError, match=r"--right: got 'b.npz', its weights 'w' are .* --left's float32 \[2\]"):
            require_comparable_states("b.npz", left, state(w=other))


def test_weights_of_other_names_are_refused_or_listed():
    left, right = state(w=np.zeros(2)), state(w=np.zeros(2), v=np.zeros(2))
    with pytest.raises(InputError, match="no weight has a name of --left's, which are w"):
        require_comparable_states("b.npz", left, state(v=np.zeros(2)))
    assert uncompared_weights(left, left) == []
    assert uncompared_weights(left, right) == ["v: only on the right"]
    assert uncompared_weights(right, left) == ["v: only on the left"]


def test_a_loss_shown_as_a_python_number_is_rounded_to_the_lefts_dtype():
    left = dataclasses.replace(step_record(), losses=[np.float32(0.1)])
    right = dataclasses.replace(step_record(), losses=[np.asarray(float(np.float32(0.1)))])
    assert comparable_record("b.npz", left, right).losses[0].tobytes() == np.float32(0.1).tobytes()
    with pytest.raises(InputError, match="its loss 'replica 0' are float16"):
        comparable_record("b.npz", left, dataclasses.replace(right, losses=[np.float16(0.1)]))


def test_one_learning_rate_stands_for_the_list_of_a_lift():
    left, right = step_record(learning_rate=[0.5, 0.5]), step_record(learning_rate=0.25)
    assert comparable_record("b.npz", left, right).learning_rate.tolist() == [0.25, 0.25]
    assert comparable_record("b.npz", right, left).learning_rate.tolist() == 0.5
    with pytest.raises(InputError, match="its learning rate"):
        comparable_record("b.npz", right, step_record(learning_rate=[0.5, 0.25]))
    assert comparable_record("b.npz", left, step_record(learning_rate=None)).learning_rate is None
