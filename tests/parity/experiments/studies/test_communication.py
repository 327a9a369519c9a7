"""The study of communication: crossing points and sentences from made-up times, and the whole of it at a small size."""

import pytest

from parity.experiments.studies import communication
from parity.experiments.studies.alternatives.communication_points import (
    BASES,
    FORMS,
    FOUR,
    ONE,
    ONE_REPLICA,
    TWO,
    TWO_ON_FIRST,
    TWO_REPLICAS,
    point_of_times,
)  # fmt: skip
from parity.experiments.studies.alternatives.turns import TurnTimes
from tests.parity.experiments.studies.in_process import in_process  # noqa: F401


def point(global_batch, slowdown, width=1.0, first=None):
    """A point at which every form takes `slowdown` times its base's time; two towers on the first device `first`."""
    seconds = {form.name: [1.0 if form.replicas == 1 else slowdown] * 4 for form in FORMS}
    if first is not None:
        seconds[TWO_ON_FIRST.name] = [first] * 4
    return point_of_times(width, global_batch, TurnTimes(seconds), 4000000)


PREDICTED = {"gtx1060x2": {64: 1.5, 256: 0.5}, "v100x2": {64: 2.0, 256: 1.5}}
POINTS = [point(64, 2.0), point(256, 1.0, first=2.0)]


def test_a_slowdown_is_the_time_over_that_of_one():
    assert POINTS[0].slowdowns[TWO.name].median == POINTS[0].slowdowns[TWO_REPLICAS.name].median == 2.0
    assert POINTS[1].first_over_cpu.median == 0.5 and POINTS[1].milliseconds == 1000 * 256


def test_the_crossing_point_is_at_the_break_even_of_devices_of_their_own():
    assert communication.crossing_of_form(TWO, POINTS).median == 128.0  # 1.5 is half way
    assert communication.crossing_of_form(FOUR, POINTS).median == 2.0**6.5  # 1.75 is a quarter of the way
    assert communication.crossing_of_form(TWO_ON_FIRST, POINTS).text() == "above 256 [above 256, above 256]"


def test_the_answer_has_crossing_points_the_places_of_variables_and_the_widths():
    report = communication.make_report(POINTS, [point(128, 1.5, 0.5), point(128, 1.25, 2.0)], PREDICTED)
    text = " ".join(report.findings)
    assert "2 towers, variables on the CPU 128 [128, 128]" in text
    assert "At a batch of 256 two towers take 1.00 [1.00, 1.00] times one tower's time" in text
    assert "on the first tower's device have 0.50 [0.50, 0.50] of the speed" in text
    assert "1.50 [1.50, 1.50] at 0.5 of the width, 1.25 [1.25, 1.25] at 2 of the width" in text
    assert "a global batch of 128 [128, 128] for two replicas" in report.answer
    assert "a predicted 128 (gtx1060x2), above 256 (v100x2) for two towers" in report.answer
    assert list(report.tables[2].rows) == [("64", "1.50", "2.00"), ("256", "0.50", "1.50")]
    assert [row[0] for row in report.tables[0].rows] == ["64", "256"] and report.tables[0].rows[0][-1] == "4.00"


@pytest.mark.parametrize(
    "slowdown, words", [(1.25, "as the write-up found"), (0.75, "does not agree with the write-up")]
)
def test_predictions_are_held_against_the_write_ups_finding(slowdown, words):
    def findings(predicted):
        return " ".join(communication.make_report(POINTS, POINTS, {"p100x2": predicted}).findings)

    text = findings({1000: 2.0, 2000: slowdown})
    assert f"At 2000 two GPUs are predicted to take {slowdown} times one's time" in text and words in text
    assert "At 2000" not in findings({1000: 2.0})


@pytest.mark.slow
def test_the_whole_study_at_a_small_size(in_process):  # noqa: F811
    report = communication.run_study(True, lambda *unused: None)
    first = report.content["points"][0]
    # 600 -> 128 -> 32 -> 32 -> 1 and four scalar biases, in float32: to each of two towers, and back from it.
    weights = 4 * (600 * 128 + 128 * 32 + 32 * 32 + 32 + 4)
    assert 4 * weights <= first["bytes_crossing"] <= 4 * weights + 1000
    assert set(first["slowdowns"]) == {form.name for form in BASES}
    assert in_process.opened[:2] == [ONE.name, ONE_REPLICA.name]
