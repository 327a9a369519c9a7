"""Rows of sparse gradients, as dense arrays."""

import numpy as np

from parity.comparison.sparse_gradients import dense_gradients, with_dense_gradients
from tests.parity.step_records import compared_step, made_up_state, step_record

ROWS = {"w": np.array([[1.0, 2], [3, 4], [5, 6]], np.float32), "w (indices)": np.array([2, 0, 2])}
STATE = made_up_state({"w": np.ones((3, 2)), "b": np.ones(2)})


def test_rows_are_added_at_their_indices():
    dense = dense_gradients({**ROWS, "b": np.ones(2)}, {"w": (3, 2), "b": (2,), "unused": ()})
    assert dense["w"].tolist() == [[3, 4], [0, 0], [6, 8]] and dense["b"].tolist() == [1, 1] and len(dense) == 2


def test_a_records_gradients_have_their_weights_shapes():
    record = step_record(gradients=[ROWS], combined={**ROWS, "b": [7, 8]}, state=STATE)
    dense = with_dense_gradients(record)
    assert {name: value.tolist() for name, value in dense.combined.items()} == {
        "w": [[3, 4], [0, 0], [6, 8]],
        "b": [7, 8],
    }
    assert list(dense.gradients[0]) == ["w"] and dense.gradients[0]["w"].shape == (3, 2)


def test_a_record_without_rows_stays_itself():
    record = step_record(combined={"b": [7, 8]}, state=STATE)
    assert with_dense_gradients(record) is record


def test_a_diagnosis_has_dense_gradients():
    step = compared_step(step_record(combined=ROWS, state=STATE))
    assert list(step.left.combined) == list(step.right.combined) == ["w"]
