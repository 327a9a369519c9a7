"""The study of scaling: its sentences on made-up times, and the whole of it on a small job."""

import pytest

from parity.experiments.studies import scaling
from parity.experiments.studies.alternatives.data_format import NCHW, FormatResult
from parity.experiments.studies.alternatives.throughput import Predictions
from parity.experiments.studies.alternatives.turns import TurnTimes
from parity.experiments.studies.scaling import MEASURED, ReplicaTimes
from parity.speed.ratio import SpeedRatio
from tests.parity.experiments.studies.in_process import in_process  # noqa: F401

TIMES = ReplicaTimes(MEASURED, (1, 4), TurnTimes(
    {name: [seconds] * 4 for name, seconds in
     (("towers, 1", 1.0), ("towers, 4", 2.0), ("port, 1", 1.0), ("port, 4", 0.5))}
))  # fmt: skip
PREDICTIONS = [Predictions("towers", {"p100x4": {1: 100.0, 4: 300.0}})]


def test_throughput_on_several_replicas_is_over_that_on_one():
    text = scaling.answer(TIMES, PREDICTIONS)
    assert "4 replicas on the same cores give 0.50 [0.50, 0.50] times as many examples a second to the towers" in text
    assert "2.00 [2.00, 2.00] times as many examples a second to the port" in text
    assert "a predicted 3.00 to 3.00 to the towers, where the write-up measured 3.38." in text


def test_the_predicted_growth_stands_beside_the_write_ups():
    text = scaling.predicted_sentence(PREDICTIONS)
    assert "the towers: 3.00 times on p100x4 (100 to 300)." in text
    assert "3.38 times with TensorFlow, made-up data" in text and "3.33 times with MXNet" in text


@pytest.mark.parametrize("one, factor, more", [(3000.0, "1.5 to 1.5", False), (6000.0, "3.0 to 3.0", True)])
def test_the_error_of_the_predictions_is_said(one, factor, more):
    text = scaling.beside_write_up([Predictions("towers", {"p100x4": {1: one, 4: 3.375 * one}})])
    assert f"off by +0 % to +0 %, and the predicted throughput of one device is {factor} times its own." in text
    assert ("spent most of its time" in text) == more


def test_several_steps_per_call_are_over_one():
    calls = {MEASURED: TurnTimes({"port, 2": [1.0] * 4, "port, 10 a call": [0.5] * 4})}
    (sentence,) = scaling.calls_sentences(calls)
    assert sentence.endswith("seed size, over one step a call: 2.00 [2.00, 2.00] (port, 10 a call).")


@pytest.mark.parametrize(
    "formats, words",
    [
        (FormatResult("CPU:0", {NCHW: "no kernel"}, None), "on CPU:0, which refuses NCHW: no kernel."),
        (FormatResult("GPU:0", {}, SpeedRatio(1.25, 1.0, 1.5, 0)), "in NCHW has 1.25 [1.00, 1.50] of its speed"),
    ],
)
def test_formats_are_compared_where_a_device_runs_both(formats, words):
    assert words in scaling.format_text(formats)


def test_the_tables_have_all_rows():
    calls = {MEASURED: TurnTimes({"port, 2": [1.0] * 4, "port, 10 a call": [0.5] * 4})}
    report = scaling.make_report(TIMES, calls, PREDICTIONS, FormatResult("CPU:0", {NCHW: "no"}, None))
    measured, predicted, per_call = (list(table.rows) for table in report.tables)
    assert measured[1] == ("towers, 4", "0", "0.50 [0.50, 0.50]") and len(measured) == 4
    assert predicted[0] == ("predicted: towers, p100x4", "100", "300 on 4", "3.00") and len(predicted) == 4
    assert [row[0] for row in per_call] == ["seed", "seed"]


@pytest.mark.slow
def test_the_whole_study_of_a_small_job(in_process):  # noqa: F811
    report = scaling.run_study(True, lambda *unused: None)
    assert in_process.opened[:4] == ["towers, 1", "towers, 2", "port, 1", "port, 2"]
    assert in_process.opened[4:] == ["port, 2", "port, 10 a call", "port, 100 a call"]
    assert set(report.content["predicted"][0]["examples"][scaling.MACHINES[0]]) == {1, 2}
