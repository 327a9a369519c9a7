import numpy as np
import pytest

from parity.diagnosis.context.job_context import Context
from parity.diagnosis.evidence import measured_once
from tests.parity.step_records import (
    compared_step,
    made_up_evidence,
    made_up_state,
    step_record,
)


def test_the_number_of_replicas_is_the_jobs_or_the_records():
    shown = [compared_step(step_record(gradients=[{"w": [1.0, 0.0]}] * 3))]
    assert made_up_evidence(shown, Context(replicas=4)).replicas == 4
    assert made_up_evidence(shown, Context()).replicas == 3
    assert made_up_evidence([], Context()).replicas == 0


@pytest.mark.parametrize("dtype, eps", [("float32", 2.0**-23), ("float64", 2.0**-52), ("int32", 2.0**-23)])
def test_the_machine_epsilon_is_of_the_weights_dtype(dtype, eps):
    before = made_up_state({"w": np.ones(2, dtype)})
    evidence = made_up_evidence([compared_step(step_record(), left_before=before)])
    assert evidence.eps == eps
    assert evidence.clean_residual == max(200 * eps, 1e-12)


def test_each_fact_is_computed_once():
    evidence = made_up_evidence([compared_step(step_record(examples=[[1, 2]]))])
    assert evidence.batches[0].same
    assert evidence.batches is evidence.batches


def test_a_step_that_repeats_itself_has_no_repeat_difference():
    record = step_record(combined={"w": [4.0, 0.0]})
    evidence = made_up_evidence([compared_step(record)])
    assert evidence.repeat_difference == 0.0  # it cannot be taken again
    evidence = made_up_evidence([compared_step(record)])
    evidence.retake_last_step = lambda: step_record(combined={"w": [4.0, 0.0]})
    assert evidence.repeat_difference == 0.0
    evidence = made_up_evidence([compared_step(record)])
    evidence.retake_last_step = lambda: step_record(combined={"w": [4.0, 1.0]})
    assert evidence.repeat_difference == 0.25


def test_learning_rates_are_read_from_free_steps_only():
    steps = [compared_step(step_record(0)), compared_step(step_record(1), locked=True)]
    assert made_up_evidence(steps).learning_rates.steps == [0]


def test_replica_gradients_are_fitted_in_steps_from_the_same_state_only():
    record = step_record(gradients=[{"w": [1.0, 0.0]}], losses=[1.0])
    elsewhere = made_up_state({"w": [2.0, 2.0]})
    steps = [compared_step(record), compared_step(step_record(1, [1.0], [{"w": [1.0, 0.0]}]), right_before=elsewhere)]
    assert [entry.step for entry in made_up_evidence(steps).gradients] == [0]


def test_facts_that_are_given_are_not_computed():
    assert made_up_evidence(gradient_factors="given").gradient_factors == "given"
    with pytest.raises(TypeError, match="no fact"):
        made_up_evidence(no_such_fact=1)


def test_evidence_of_two_equal_sides_shows_no_difference():
    evidence = made_up_evidence([compared_step(step_record(combined={"w": [0.5, 0.5]}))])
    assert evidence.initial.weights == []
    assert evidence.batches == []
    assert evidence.masks is None
    assert evidence.statistics is None
    assert evidence.gradient_factors is None
    assert evidence.averages == ([], [])
    assert evidence.updates == (None, None)  # the optimizer is not known
    assert evidence.learning_rates.equal


@pytest.mark.parametrize("given, both", [(("l", "r"), ("l", "r")), (("l", None), None), ((None, "r"), None)])
def test_updates_are_compared_where_both_sides_can_be_explained(given, both):
    assert made_up_evidence(updates=given).both_updates == both


def test_a_fact_of_another_module_is_measured_once_for_each_evidence():
    calls = []

    @measured_once
    def count_steps(evidence):
        calls.append(evidence)
        return len(evidence.steps)

    first, second = made_up_evidence(), made_up_evidence()
    assert [count_steps(first), count_steps(first), count_steps(second)] == [1, 1, 1]
    assert len(calls) == 2
    assert first.facts == {"count_steps": 1}
