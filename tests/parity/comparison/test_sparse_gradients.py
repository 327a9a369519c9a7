"""Rows of sparse gradients, as dense arrays."""

import numpy as np

from parity.comparison import stages
from parity.comparison.sparse_gradients import dense_gradients, with_dense_gradients, with_rows_alike
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


TURNED = {"w": ROWS["w"][[2, 0, 1]], "w (indices)": ROWS["w (indices)"][[2, 0, 1]]}


def both(first, second):
    """The gradients of two records as they are compared."""
    records = [step_record(gradients=[one], combined=one, state=STATE) for one in (first, second)]
    one, two = stages.both_tensors(*records)
    return [{(stage, name): array.tolist() for stage, name, array in side if "w" in name} for side in (one, two)]


def test_rows_in_another_order_are_compared_as_sums():
    one, two = both(ROWS, TURNED)
    assert one == two and [[3, 4], [0, 0], [6, 8]] in one.values() and [0, 2, 2] in one.values()


def test_rows_in_one_order_and_rows_of_other_indices_are_compared_one_by_one():
    other = {**TURNED, "w (indices)": np.array([2, 1, 0])}
    for second in (ROWS, other):
        one, two = both(ROWS, second)
        assert ROWS["w"].tolist() in one.values() and second["w"].tolist() in two.values()
        assert (one == two) == (second is ROWS)


def test_a_factor_of_all_gradients_is_that_of_their_sums():
    one, two = (step_record(gradients=[one], combined=one, state=STATE) for one in (ROWS, TURNED))
    for values in stages.FACTORED.values():
        assert values(one).tolist() == values(two).tolist() == [3, 4, 0, 0, 6, 8]
    twice = step_record(gradients=[{**ROWS, "w": 2 * ROWS["w"]}], state=STATE)
    assert stages.FACTORED[stages.GRADIENTS](twice).tolist() == [6, 8, 0, 0, 12, 16]


def test_the_same_indices_with_the_rows_of_others_differ():
    one, two = both(ROWS, {**TURNED, "w": ROWS["w"]})
    assert one != two


def test_records_without_rows_have_the_same_gradients():
    records = [step_record(gradients=[{"b": [7, 8]}], combined={"b": [7, 8]}, state=STATE)] * 2
    assert [one.gradients for one in with_rows_alike(records)] == [one.gradients for one in records]
