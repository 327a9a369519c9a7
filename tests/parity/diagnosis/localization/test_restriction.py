import numpy as np

from parity.diagnosis.context.job_context import Context
from parity.diagnosis.localization.restriction import restrict_evidence
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

BEFORE = made_up_state(
    {"a": [1.0], "b": [2.0]},
    {"a/m": [0.0], "b/m": [0.0], "beta1_power": 0.5},
    {"n/mean": [0.0], "n/variance": [1.0]},
    {"a": [1.0], "b": [2.0]},
)
OTHER = made_up_state({"a": [1.0], "b": [3.0]}, BEFORE.slots, BEFORE.statistics, BEFORE.averages)


def evidence():
    records = [
        step_record(
            step,
            gradients=[{"a": [1.0], "b": [2.0]}],
            combined={"a": [1.0], "b": [2.0]},
            state=BEFORE,
            proposals=[{"n/mean": [0.5], "n/variance": [2.0]}],
            drift=["a", "n/mean"],
        )
        for step in range(3)
    ]
    steps = [compared_step(record, None, BEFORE, OTHER if record.step == 2 else BEFORE) for record in records]
    return made_up_evidence(steps, Context(replicas=1, global_batch=4, decayed=("a", "b"), penalized=("a", "b")))


def test_steps_are_left_out():
    assert [step.left.step for step in restrict_evidence(evidence(), steps=[0, 2]).steps] == [0, 2]
    assert len(restrict_evidence(evidence()).steps) == 3


def test_only_the_last_step_is_taken_again():
    whole = evidence()
    whole.retake_last_step = lambda: step_record(2, combined={"a": [9.0], "b": [2.0]})
    assert restrict_evidence(whole, steps=[0, 2]).repeat_difference > 1
    assert restrict_evidence(whole, steps=[0, 1]).repeat_difference == 0


def test_weights_are_left_out_of_every_part_of_a_record():
    restricted = restrict_evidence(evidence(), names=["b"])
    record = restricted.steps[0].right
    assert set(record.gradients[0]) == set(record.combined) == set(record.state.weights) == {"b"}
    assert set(record.state.slots) == {"b/m", "beta1_power"}
    assert set(record.state.averages) == set(restricted.left.weights) == {"b"}
    assert set(record.state.statistics) == set(record.proposals[0]) == {"n/mean", "n/variance"}
    assert record.drift == ["n/mean"]
    assert restricted.context.decayed == ("b",)
    assert restricted.context.penalized == ("b",)


def test_statistics_are_left_out_and_weights_stay():
    record = restrict_evidence(evidence(), names=["n/mean"]).steps[0].left
    assert set(record.state.statistics) == set(record.proposals[0]) == {"n/mean"}
    assert set(record.state.weights) == {"a", "b"}


def test_steps_from_other_weights_stay_incomparable_without_the_weights_that_differ():
    restricted = restrict_evidence(evidence(), names=["a"])
    assert [step.same_state for step in restricted.steps] == [True, True, False]


def test_facts_are_measured_anew():
    whole = evidence()
    whole.facts["find_swaps"] = "of all"
    assert restrict_evidence(whole, names=["a"]).facts == {}
    assert np.isfinite(restrict_evidence(whole, names=["a"]).eps)
