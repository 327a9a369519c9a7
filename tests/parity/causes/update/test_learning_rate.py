import numpy as np
import pytest

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.update import learning_rate
from parity.diagnosis.context.job_context import Context
from tests.cases import Dyadic
from tests.parity.causes.stub_step import change_of
from tests.parity.step_records import learning_rates, made_up_evidence
from workloads import schedules
from workloads.job import Job

CRITERIA = {cause.id: cause.criterion for cause in learning_rate.CAUSES}

#: A rate that halves every two steps, and one whose multiples are not its own values at other steps.
HALVING = [1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125]
FALLING = [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]


def recognized(left, right, replicas=2):
    context = Context(replicas=replicas, global_batch=8)
    evidence = made_up_evidence((), context, learning_rates=learning_rates(left, right))
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def test_equal_rates_are_no_cause():
    assert recognized(HALVING, HALVING) == {}
    assert recognized(HALVING, [rate * (1 + 5e-7) for rate in HALVING]) == {}
    assert recognized([], []) == {}


@pytest.mark.parametrize(
    "right, sentence",
    [
        ([1.0, 0.5, 0.25, 0.125], "legacy's of step 2 t: its knees come 2 x too early"),
        ([1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5], "legacy's of step t / 2: its knees come 2 x too late."),
        ([1.0, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125], "step t +1: the schedule reads the step after it is counted."),
        ([2.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.125], "step t -1: the schedule reads the step before it is counted."),
    ],
)
def test_another_step_count_is_named(right, sentence):
    found = recognized(HALVING[: len(right)], right)
    assert list(found) == ["STEP_COUNTER"]
    assert sentence in found["STEP_COUNTER"].sentence
    assert found["STEP_COUNTER"].confidence == HIGH


def test_a_shift_of_a_rate_that_changes_once_may_be_another_boundary():
    found = recognized([1.0] * 6 + [0.5] * 4, [1.0] * 7 + [0.5] * 3)
    assert {name: (finding.confidence, finding.ambiguous) for name, finding in found.items()} == {
        "STEP_COUNTER": (MEDIUM, True),
        "LEARNING_RATE_SCHEDULE": (MEDIUM, True),
    }
    sentence = "The learning rate comes to 0.5 at step 7, legacy's at step 6: the schedule has another boundary"
    assert found["LEARNING_RATE_SCHEDULE"].sentence.startswith(sentence)


def test_steps_past_a_second_change_tell_a_shift_from_another_boundary():
    left = [1.0] * 6 + [0.5] * 6 + [0.25] * 4
    assert list(recognized(left, [1.0] * 7 + [0.5] * 6 + [0.25] * 3)) == ["STEP_COUNTER"]
    assert list(recognized(left, [1.0] * 7 + [0.5] * 7 + [0.25] * 2)) == ["LEARNING_RATE_SCHEDULE"]


def test_one_replica_has_no_wrong_count_of_replicas():
    assert "STEP_COUNTER" not in recognized(HALVING[:4], HALVING[:8:2], replicas=1)


def test_a_frozen_rate_is_named():
    found = recognized(HALVING, [1.0] * 8)
    assert list(found) == ["LEARNING_RATE_FROZEN"]
    assert found["LEARNING_RATE_FROZEN"].sentence == (
        "The learning rate stays 1, legacy's first, while legacy's goes to 0.125."
    )
    assert found["LEARNING_RATE_FROZEN"].confidence == HIGH
    assert recognized(HALVING, [2.0] * 8)["LEARNING_RATE_FROZEN"].confidence == MEDIUM


def test_a_factor_is_named():
    found = recognized(FALLING, [2 * rate for rate in FALLING])
    assert list(found) == ["LEARNING_RATE_SCALED"]
    assert found["LEARNING_RATE_SCALED"].sentence == (
        "The learning rate is 2 x legacy's (the number of replicas) in every step."
    )
    assert "(the number" not in recognized(FALLING, [3 * rate for rate in FALLING])["LEARNING_RATE_SCALED"].sentence


def test_a_factor_is_the_same_within_one_in_a_hundred_thousand():
    nearly = np.array(FALLING) * 3
    nearly[3] *= 1 + 0.9e-5
    assert list(recognized(FALLING, nearly)) == ["LEARNING_RATE_SCALED"]
    nearly[3] *= 1 + 0.2e-5
    assert list(recognized(FALLING, nearly)) == ["LEARNING_RATE_SCHEDULE"]


def test_another_schedule_is_named_with_the_first_step_that_differs():
    found = recognized(HALVING, [1.0, 1.0, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05])
    assert list(found) == ["LEARNING_RATE_SCHEDULE"]
    assert found["LEARNING_RATE_SCHEDULE"].sentence == (
        "The learning rate follows another schedule: 0.4 against legacy's 0.5 at step 3, where they first differ."
    )


def faulty_rates(fault, steps=6):
    """The learning rates of a fault's schedule where the job's halves every two steps, with two replicas."""
    job = Job(Dyadic(learning_rate=schedules.ExponentialDecay(1.0, 2, 0.5, staircase=True)), 2, 8)
    schedule = change_of(fault).fields[0](job)["learning_rate"]
    return [schedules.learning_rate_at(schedule, step, 8) for step in range(steps)]


@pytest.mark.parametrize(
    "fault, rates",
    [
        ("steps_counted_by_every_replica", [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125]),
        ("epochs_of_the_per_replica_batch", [1.0, 1.0, 1.0, 1.0, 0.5, 0.5]),
        ("step_read_after_the_update", [1.0, 0.5, 0.5, 0.25, 0.25, 0.125]),
        ("rate_times_replicas", [2.0, 2.0, 1.0, 1.0, 0.5, 0.5]),
        ("rate_frozen", [float(np.float32(0.01))] * 6),
    ],
)
def test_faults_have_other_learning_rates(fault, rates):
    assert faulty_rates(fault) == rates


def test_a_schedule_without_steps_decays_in_every_step():
    rates = faulty_rates("not_a_staircase")
    assert all(later < earlier for earlier, later in zip(rates, rates[1:]))
    assert rates[::2] == pytest.approx([0.01, 0.005, 0.0025])


@pytest.mark.parametrize("left, confidence", [([0.5, 0.5, 0.25, 0.25], MEDIUM), ([0.5, 0.5, 0.25, 0.125], HIGH)])
def test_a_boundary_that_is_one_step_late_may_be_the_schedules_own(left, confidence):
    evidence = made_up_evidence(learning_rates=learning_rates(left, [0.5, *left[:-1]]))
    assert learning_rate.step_counter(evidence).confidence == confidence


@pytest.mark.parametrize(
    "first, left, sure",
    [
        (0, [0.5, 0.5, 0.5], True),
        (8, [0.5, 0.5, 0.5], False),  # a boundary between step 0 and step 8 would look the same
        (8, [0.5, 0.5, 0.25], True),
    ],
)
def test_a_constant_ratio_after_the_first_steps_may_be_another_boundary(first, left, sure):
    rates = learning_rates(left, [3 * rate for rate in left])
    evidence = made_up_evidence((), Context(replicas=2, global_batch=8), learning_rates=rates)
    evidence.left.step = first
    finding = CRITERIA["LEARNING_RATE_SCALED"](evidence)
    assert (finding.confidence == HIGH, finding.ambiguous) == (sure, not sure)
    assert ("every step" in finding.sentence) is sure


def test_a_rate_without_legacys_warm_up_is_another_schedule():
    found = recognized([1.0, 2.0, 3.0, 4.0, 4.0], [4.0] * 5)
    assert list(found) == ["LEARNING_RATE_SCHEDULE"]
    assert "legacy's last rate at once, without a warm-up" in found["LEARNING_RATE_SCHEDULE"].sentence


@pytest.mark.parametrize("left, right", [([1.0] * 4, [8.0] * 4), (FALLING, [8.5 * rate for rate in FALLING])])
def test_a_factor_in_steps_after_others_that_agreed_is_another_schedule(left, right):
    evidence = made_up_evidence((), Context(2, 8), learning_rates=learning_rates(left, right, first=1000))
    assert CRITERIA["LEARNING_RATE_SCALED"](evidence) and not CRITERIA["LEARNING_RATE_SCHEDULE"](evidence)
    evidence.agreed_steps = 20
    assert not CRITERIA["LEARNING_RATE_SCALED"](evidence)
    assert "the same in the first 20 steps" in CRITERIA["LEARNING_RATE_SCHEDULE"](evidence).sentence
