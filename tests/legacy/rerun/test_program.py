"""A saved graph in a session, by hand."""

from __future__ import annotations

import numpy as np

from legacy.options import LegacyOptions
from legacy.rerun.program import OldGraphProgram
from legacy.rerun.recorded_source import RecordedSource
from legacy.rerun.recording import RecordedSteps
from tests.legacy.rerun.recordings import small_steps, write_recording
from tests.small_lift import CountingSource, small_job
from workloads.lifted.plan import ControlDependency, Noise, Race
from workloads.program import State
from workloads.records.writer import batch_digest


class Fixed(CountingSource):
    """The first batch at every step."""

    fixed = True

    def shards(self, step):
        return super().shards(0)


def program_of(job, source=None, dependencies=None):
    return OldGraphProgram(
        job, source or CountingSource(job), LegacyOptions(exact=True), ["CPU:0", "CPU:1"], dependencies
    )


def test_a_step_is_recorded_as_computed_by_hand(tmp_path):
    with program_of(small_job(str(tmp_path / "lift"))) as program:
        record = program.step()
        assert program.step().state.weights == {"w": -2.5}
    assert [loss.tolist() for loss in record.losses] == [6.0, 14.0] and record.gradients == [{"w": 3.0}, {"w": 7.0}]
    assert record.combined == {"w": 5.0} and record.learning_rate.tolist() == [0.25]
    assert record.state.weights == {"w": 0.75} and record.state.step == 1
    assert record.digests == [batch_digest({"x": np.float32(x)}) for x in ([1, 2], [3, 4])]


def test_many_steps_are_as_many_single_ones(tmp_path):
    with program_of(small_job(str(tmp_path / "lift"))) as program:
        assert [float(loss) for loss in program.run(2)] == [0.75 * 11, 0.75 * 15]
        assert program.state().weights == {"w": -2.5} and program.state().step == 2


def test_a_fixed_batch_stays_on_the_devices(tmp_path):
    job = small_job(str(tmp_path / "lift"))
    with program_of(job, Fixed(job)) as program:
        assert program.describe()["input"] == "resident"
        program.run(1)
        record = program.step()
    assert record.gradients == [{"w": 3.0}, {"w": 7.0}] and record.state.weights == {"w": -0.5}


def test_a_loaded_state_is_gone_on_from(tmp_path):
    with program_of(small_job(str(tmp_path / "lift"))) as program:
        program.load(State(1, {"w": np.float32(10)}, {}, {}, {}))
        assert program.step().state.weights == {"w": 10 - 0.25 * 13}


def test_describes_what_it_adds_to_the_job(tmp_path):
    job = small_job(str(tmp_path / "lift"))
    with program_of(job) as program:
        about = program.describe()
        assert (about["races"], about["update rules"], about["input"]) == ("none", "ApplyGradientDescent", "feed")
        assert [spec.name for spec in program.variables()] == ["w"] and program.side == "legacy"


def test_another_order_that_the_graph_allows_can_be_fixed(tmp_path):
    job = small_job(str(tmp_path / "lift"))
    job.workload.plan.phases[0].races = [Race("w", "read", "update", reader="read")]
    with program_of(job, dependencies=[[ControlDependency("update", "w/read")]]) as program:
        assert program.describe()["races"] == "1 pinned to one order that the graph allows"
        assert [loss.tolist() for loss in program.step().losses] == [0.75 * 3, 0.75 * 7]  # of the new weight


def test_recorded_random_numbers_replace_those_of_the_graph(tmp_path):
    """g0 is taken for a random node, whose recorded value is not the sum of the batch."""
    job = small_job(str(tmp_path / "lift"))
    job.workload.plan.noise.append(Noise("g0", "RandomUniform", "keyed", ["g0", None]))
    steps = small_steps(1)
    steps[0]["tensors/g0:0"] = np.float32(1)
    recorded = RecordedSteps(write_recording(tmp_path / "run", steps), job.workload.plan)
    with program_of(job, RecordedSource(job, recorded)) as program:
        record = program.step()
    assert record.gradients == [{"w": 1.0}, {"w": 7.0}] and record.state.weights == {"w": 1.0}
