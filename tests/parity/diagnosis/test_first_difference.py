"""The first differing stage of made-up runs."""

import numpy as np

from parity.comparison import stages
from parity.diagnosis.first_difference import first_differing_stage
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

SAME = step_record(losses=[1.0], gradients=[{"w": [1.0]}], combined={"w": [1.0]})


def of_step(left, right):
    return first_differing_stage(made_up_evidence([compared_step(left, right)]))


def test_equal_runs_have_none():
    assert of_step(SAME, SAME) is None


def test_the_initial_values_come_first():
    other = made_up_state({"w": [9.0, 2.0]})
    step = compared_step(SAME, step_record(losses=[2.0]), right_before=other)
    assert first_differing_stage(made_up_evidence([step])) == stages.INITIAL


def test_the_first_stage_of_the_first_step_in_causal_order():
    other = step_record(losses=[1.0], gradients=[{"w": [2.0]}], combined={"w": [2.0]})
    assert of_step(SAME, other) == stages.GRADIENTS
    later = step_record(1, losses=[1.0]), step_record(1, losses=[2.0])
    steps = [compared_step(SAME, other), compared_step(*later)]
    assert first_differing_stage(made_up_evidence(steps)) == stages.GRADIENTS
    assert first_differing_stage(made_up_evidence([compared_step(SAME), steps[1]])) == stages.LOSS


def test_one_bit_is_a_difference():
    other = step_record(losses=[np.nextafter(np.float32(1), np.float32(2))], gradients=[{"w": [1.0]}])
    assert of_step(SAME, other) == stages.LOSS


def test_another_shape_is_a_difference_and_a_missing_tensor_is_none():
    assert of_step(SAME, step_record(losses=[1.0], gradients=[{"w": [1.0, 1.0]}])) == stages.GRADIENTS
    assert of_step(SAME, step_record()) is None


def test_initial_tensors_are_compared_by_name():
    """A port without one of legacy's weights, all others in another order."""
    whole, part = made_up_state({"a": [1.0], "b": [2.0, 3.0], "c": [4.0]}), made_up_state({"c": [4.0], "a": [1.0]})
    assert first_differing_stage(made_up_evidence([compared_step(SAME, SAME, whole, part)])) is None
    part.weights["a"][0] = 9.0
    assert first_differing_stage(made_up_evidence([compared_step(SAME, SAME, whole, part)])) == stages.INITIAL


def test_copies_that_disagree_count_as_statistics():
    assert of_step(step_record(), step_record(drift=["w"])) == stages.STATISTICS
