"""A recorded run as a program."""

from __future__ import annotations

import numpy as np
import pytest

from legacy.rerun.recorded_run import RecordedRun
from legacy.rerun.recording import RecordedSteps
from tests.legacy.rerun.recordings import small_steps, write_recording
from tests.small_lift import small_lift
from workloads.job import Job
from workloads.lifted.plan import Effect, Variable
from workloads.lifted.workload import LiftedWorkload
from workloads.records.writer import batch_digest
from workloads.support.errors import InputError


def run_of(tmp_path, steps, change=lambda plan: None):
    workload = small_lift(str(tmp_path / "lift"), change)
    return RecordedRun(Job(workload, 2), RecordedSteps(write_recording(tmp_path / "run", steps), workload.plan))


def test_a_step_is_what_was_recorded(tmp_path):
    run = run_of(tmp_path, small_steps(2))
    assert run.state().step == 0 and run.state().weights == {"w": 2.0}
    record = run.step()
    assert [loss.tolist() for loss in record.losses] == [6.0, 14.0] and record.gradients == [{"w": 3.0}, {"w": 7.0}]
    assert record.combined == {"w": 5.0} and record.state.weights == {"w": 0.75} and record.state.step == 1
    assert record.digests == [batch_digest({"x": np.float32(x)}) for x in ([1, 2], [3, 4])]
    assert record.learning_rate.tolist() == [0.25]  # a constant, which was not recorded
    assert run.step().state.weights == {"w": -2.5} == run.state().weights
    with pytest.raises(InputError, match="--steps: the recording holds 2 steps"):
        run.step()


def test_the_next_step_starts_from_what_other_runs_have_left(tmp_path):
    """Such as a copy of the weights, or the steps of a game that the program counts."""
    steps = small_steps(2)
    steps[1]["before/w"] = np.float32(4)
    run = run_of(tmp_path, steps)
    assert run.step().state.weights == {"w": 0.75}
    assert run.state().weights == {"w": 4.0} and run.state().step == 1
    assert run.step().state.weights == {"w": -2.5} == run.state().weights


def test_what_was_not_recorded_is_left_out(tmp_path):
    steps = small_steps(1)
    for name in ("tensors/loss1:0", "tensors/g0:0", "tensors/mean:0", "after/w"):
        del steps[0][name]

    def change(plan):
        plan.phases[0].effects[0].learning_rate = "total:0"

    record = run_of(tmp_path, steps, change).step()
    assert record.losses == [] and record.gradients == [{}, {"w": 7.0}] and record.combined == {}
    assert np.isnan(record.learning_rate).all() and record.state.weights == {"w": 2.0}  # as the lift has it


def test_the_start_of_a_recorded_run_cannot_be_changed(tmp_path):
    run = run_of(tmp_path, small_steps(1))
    start = run.state()
    start.weights["w"] = np.float32(9)
    run.load(start)
    assert run.step().state.weights == {"w": 0.75}
    assert run.describe() == {"program": "TensorFlow 0.12.1, Python 2.7.18, recorded"}
    assert [spec.name for spec in run.variables()] == ["w"] and run.side == "original"


def test_a_state_that_was_fetched_and_fed_back_is_what_was_fetched_or_else_fed(tmp_path, monkeypatch):
    """A lift makes a variable of it, which the recording does not have."""

    steps = small_steps(2)
    for step, value in zip(steps, (1, 2)):
        step["tensors/total:0"] = np.float32(value)
    workload = small_lift(str(tmp_path / "lift"))
    monkeypatch.setattr(LiftedWorkload, "values", lambda self: {"w": np.float32(2), "total": np.float32(0)})
    workload.plan.variables.append(Variable("total", [], "float32", "state"))
    workload.plan.phases[0].effects.append(Effect("total/carry", "Assign", ["total"], ["mean:0"]))
    run = RecordedRun(Job(workload, 2), RecordedSteps(write_recording(tmp_path / "run", steps), workload.plan))
    assert run.state().statistics["total"] == 1
    assert run.step().state.statistics["total"] == 5  # the mean gradient of step 0
    assert run.state().statistics["total"] == 2  # fed: the program set its state back
