"""Runs without a fault: their plan, the records that are kept, and two short ones."""

import dataclasses

import pytest

from parity.diagnosis.context.job_context import Context
from parity.experiments.false_alarms import (
    MODES,
    STRIDE,
    VARIANTS,
    CleanCase,
    CleanRun,
    RecordKeeper,
    evidence_of_keepers,
    plan_clean_cases,
    run_clean_case,
)
from tests.parity.step_records import MadeUpProgram, made_up_state, step_record

CASE = CleanCase("regression", 7, 3, "float32", "tower_order", 1)


def test_there_are_enough_cases_for_the_runs_and_each_has_its_seed():
    assert [case.seed for case in plan_clean_cases(5, 10)] == [10, 11, 12]
    assert plan_clean_cases(1, 0) == plan_clean_cases(2, 0) and len(plan_clean_cases(3, 0)) == 2


def test_every_variant_is_reached_once_before_one_comes_again():
    cases = plan_clean_cases(len(MODES) * len(VARIANTS), 0)
    seen = {(case.replicas, case.dtype, case.all_reduce, case.half_batches) for case in cases}
    assert seen == set(VARIANTS) and len(VARIANTS) % STRIDE


def test_identical_bits_are_required_in_the_towers_order_only():
    assert CASE.tolerance_name == "exact"
    assert dataclasses.replace(CASE, all_reduce="auto").tolerance_name == "auto"


@pytest.mark.parametrize("replicas, half_batches", [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_the_global_batch_is_the_smallest_multiple_of_the_replicas_that_is_large_enough(replicas, half_batches):
    case = dataclasses.replace(CASE, replicas=replicas, half_batches=half_batches)
    wanted = case.setup().job.workload.global_batch * half_batches / 2
    assert case.global_batch % replicas == 0 and wanted <= case.global_batch < wanted + replicas


def test_json_has_the_case_and_what_was_flagged():
    assert CleanRun(CASE, "free", 48, ["an alarm"]).to_json() == {
        "workload": "regression", "seed": 7, "replicas": 3, "dtype": "float32", "all_reduce": "tower_order", "batch": 1,
        "tolerance": "exact", "mode": "free", "global_batch": 48, "flagged": ["an alarm"],
    }  # fmt: skip


def kept(weights, loads=()):
    """A keeper of a program whose weight is `weights[i]` after step i; {step: state} is loaded before that step."""
    records = [step_record(step, state=made_up_state({"w": [w]}, step=step + 1)) for step, w in enumerate(weights)]
    keeper = RecordKeeper(MadeUpProgram(records, made_up_state({"w": [0.0]})))
    for step in range(len(weights)):
        if step in loads:
            keeper.load(made_up_state({"w": [9.0]}, step=step))
        keeper.step()
    return keeper


def test_a_keeper_has_the_records_and_the_states_before_them():
    keeper = kept([1.0, 2.0])
    assert [record.step for record in keeper.records] == [0, 1]
    assert [state.weights["w"].item() for state in keeper.before] == [0.0, 1.0, 2.0]


def test_a_state_that_is_loaded_is_the_state_before_the_next_step():
    assert [state.weights["w"].item() for state in kept([1.0, 2.0], loads=(1,)).before] == [0.0, 9.0, 2.0]


def test_evidence_says_which_steps_started_from_the_left_sides_state():
    evidence = evidence_of_keepers(kept([1.0, 2.0, 3.0]), kept([1.0, 2.0, 4.0]), Context(replicas=2), free=2)
    assert [step.locked for step in evidence.steps] == [False, False, True]
    assert evidence.left.weights["w"] == [0.0] and evidence.steps[2].right.state.weights["w"] == [4.0]
    assert evidence.steps[2].left_before.weights["w"] == [2.0]


@pytest.mark.parametrize("all_reduce", ["tower_order", "one_device"])
def test_a_run_without_a_fault_raises_no_alarm(all_reduce):
    runs = run_clean_case(dataclasses.replace(CASE, replicas=2, all_reduce=all_reduce), steps=2)
    assert {run.global_batch for run in runs} == {runs[0].case.global_batch}
    assert [run.mode for run in runs] == list(MODES) and [run.alarms for run in runs] == [[], []]
