"""A lifted program under a strategy, by hand."""

from __future__ import annotations

import copy

import numpy as np
import tensorflow as tf

from modern.lifted.program import LiftedProgram
from modern.options import ModernOptions
from tests.small_lift import CountingSource, small_job, small_lift
from workloads.job import Job
from workloads.lifted.workload import lift_with_losses
from workloads.records.writer import batch_digest

DEVICES = ["CPU:0", "CPU:1"]


def program_of(job, source=CountingSource, **options):
    return LiftedProgram(job, source(job), ModernOptions(exact=True, **options), DEVICES)


def test_a_step_is_recorded_as_computed_by_hand(tmp_path):
    with program_of(small_job(str(tmp_path / "lift"))) as program:
        record = program.step()
        second = program.step()
    assert record.step == 0 and [loss.tolist() for loss in record.losses] == [6.0, 14.0]
    assert record.gradients == [{"w": 3.0}, {"w": 7.0}] and record.combined == {"w": 5.0}
    assert record.learning_rate.tolist() == [0.25] and record.state.weights == {"w": 0.75} and record.drift == []
    assert record.digests == [batch_digest({"x": np.float32(x)}) for x in ([1, 2], [3, 4])]
    assert second.step == 1 and second.gradients == [{"w": 11.0}, {"w": 15.0}]
    assert second.state.weights == {"w": 0.75 - 0.25 * 13}


def test_many_steps_are_as_many_single_ones(tmp_path):
    with program_of(small_job(str(tmp_path / "lift"))) as program:
        losses = program.run(2)
        assert [float(loss) for loss in losses] == [0.75 * 11, 0.75 * 15] and program.traces() >= 2
        assert program.state().weights == {"w": -2.5} and program.state().step == 2


def test_a_loaded_state_is_gone_on_from(tmp_path):
    with program_of(small_job(str(tmp_path / "lift"))) as program:
        first = program.state()
        program.step()
        program.load(first)
        assert program.step().state.weights == {"w": 0.75}


def test_describes_what_it_adds_to_the_job(tmp_path):
    job = small_job(str(tmp_path / "lift"))
    with program_of(job) as program:
        about = program.describe()
        assert about["update rules"] == "ApplyGradientDescent" and about["reduction"] == "as written, on every replica"
        assert about["input"] == "dataset" and about["autodiff"] == "the graph's own gradients"
        assert [spec.name for spec in program.variables()] == ["w"]
    with program_of(job, all_reduce="auto", autodiff="new") as program:
        about = program.describe()
        assert about["reduction"].startswith("all-reduce of mean, by ")
        assert about["autodiff"] == "tf.gradients of the lifted loss"


def test_a_written_loss_takes_the_place_of_the_lifted_one(tmp_path):
    def doubled(scope, batch):
        return scope.get("w", ()) * tf.reduce_sum(batch["x"]) * 2.0

    folder = str(tmp_path / "lift")
    small_lift(folder)
    with program_of(Job(lift_with_losses(folder, {"update": doubled}), 2)) as program:
        assert program.describe()["autodiff"] == "tf.gradients of the written losses"
        record = program.step()
    assert [loss.tolist() for loss in record.losses] == [12.0, 28.0]
    assert record.gradients == [{"w": 6.0}, {"w": 14.0}] and record.state.weights == {"w": 2.0 - 0.25 * 10}


def test_a_graph_that_does_not_tell_its_losses_runs_and_shows_none(tmp_path):
    workload = small_lift(str(tmp_path / "lift"), lambda plan: setattr(plan.phases[0], "losses", []))
    with program_of(Job(workload, 2)) as program:
        assert program.step().losses == []
        program.run(1)
        assert program.state().weights == {"w": -2.5}


def alternating(plan):
    """Makes a second phase, with another learning rate: the first input of tower 0."""
    second = copy.deepcopy(plan.phases[0])
    second.effects[0].values[0] = "g0:0"
    second.effects[0].learning_rate = "g0:0"
    plan.phases.append(second)


def test_train_ops_run_in_turn(tmp_path):
    workload = small_lift(str(tmp_path / "lift"), alternating)
    with program_of(Job(workload, 2)) as program:
        records = [program.step() for _ in range(3)]
        assert [record.learning_rate.tolist() for record in records] == [[0.25], [11.0], [0.25]]
    with program_of(Job(workload, 2)) as program:
        program.run(3)
        assert program.state().weights == records[2].state.weights and program.state().step == 3
