"""Recordings of another framework: under its own variables' names, and with a part of what this project records."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from parity.comparison import stages
from parity.comparison.result import Verdict
from parity.verdict import left_side
from parity.verdict.compare_programs import ComparisonPlan, compare_programs
from parity.verdict.recorded_part import RecordedPart
from tests.cases import Everything, setup
from workloads.records.writer import Recorder
from workloads.support.errors import InputError

#: {legacy's name: a Keras model's}.
NAMES = {
    "first/weights": "dense/kernel",
    "norm/beta": "bn/beta",
    "norm/gamma": "bn/gamma",
    "last/weights": "dense_1/kernel",
    "last/biases": "dense_1/bias",
}
PLAN = ComparisonPlan(2, tolerance_name="auto", with_visits=False)


def recorded(path, made, change=lambda weights: weights, change_gradients=lambda gradients: gradients):
    """Records two steps of the port as a script of the user's would: weights and one loss, as Python has it."""

    def renamed(arrays):
        return {NAMES[name]: value for name, value in arrays.items()}

    with made.modern_program() as program:
        state = program.state()
        statistics = {name.replace("norm", "bn"): value for name, value in state.statistics.items()}
        with Recorder(path, 2, renamed(state.weights), statistics=statistics, global_batch=16) as recorder:
            for _ in range(2):
                record = program.step()
                recorder.step(
                    losses=float(np.mean(record.losses)),
                    weights=change(renamed(record.state.weights)),
                    statistics={n.replace("norm", "bn"): v for n, v in record.state.statistics.items()},
                    gradients=[change_gradients(renamed(gradients)) for gradients in record.gradients],
                )
    return path


def compared(path, made, names):
    with left_side.open_recording(path, made.job, 2, names) as recording:
        part = RecordedPart.of(recording)
    left = left_side.open_recording(path, made.job, 2, names)
    result = compare_programs(dataclasses.replace(made, record_filter=part.filter_records), left, PLAN).verification
    return result, part


@pytest.fixture
def made():
    return setup(Everything(), 2, 16)


def test_what_is_recorded_is_compared_and_the_rest_is_named(made, tmp_path, capsys):
    names = str(tmp_path / "names.json")
    result, part = compared(recorded(str(tmp_path / "port.npz"), made), made, names)
    assert result.passed and {stages.LOSS, stages.GRADIENTS, stages.WEIGHTS, stages.STATISTICS} <= set(result.stages)
    assert part.left_out == {stages.BATCH, stages.COMBINED, stages.RATE, stages.SLOTS}
    assert json.loads(open(names).read())["names"]["dense/kernel"] == "first/weights"
    assert f"{names}: 7 names" in capsys.readouterr().out


def test_a_port_that_updates_otherwise_is_no_parity(made, tmp_path):
    def change(weights):
        return {**weights, "dense_1/bias": weights["dense_1/bias"] * np.float32(1.01)}

    result, _ = compared(recorded(str(tmp_path / "port.npz"), made, change), made, str(tmp_path / "names.json"))
    assert result.verdict is Verdict.NO_PARITY and result.first.stage == stages.WEIGHTS


def test_a_port_whose_gradients_are_others_is_no_parity(made, tmp_path):
    def change(gradients):  # as by another epsilon: no factor, and far from the truth in every step
        return {**gradients, "dense/kernel": gradients["dense/kernel"] * np.float32(1.25)}

    path = recorded(str(tmp_path / "port.npz"), made, change_gradients=change)
    result, _ = compared(path, made, str(tmp_path / "names.json"))
    assert result.verdict is Verdict.NO_PARITY and result.first.stage == stages.GRADIENTS
    assert result.single_only == "the recording holds the numbers of one precision"


def test_a_recording_of_other_sizes_is_refused(made, tmp_path):
    path = recorded(str(tmp_path / "port.npz"), made)
    with pytest.raises(InputError, match="global_batch is 16 in the recording and 32 here"):
        left_side.open_recording(path, setup(Everything(), 2, 32).job, 2, str(tmp_path / "names.json"))
