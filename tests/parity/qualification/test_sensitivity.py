"""The command of detection limits: its requirement and its table."""

import pytest

from parity.comparison import stages
from tests.own_flags import own_flags

with own_flags():
    from parity.qualification import sensitivity
    from parity.qualification.sensitivity import DetectionLimit


def limit(stage, float32, float64):
    return DetectionLimit("regression", stage, {"float32": float32, "float64": float64})


@pytest.mark.parametrize(
    "float32, float64, met", [(1e-5, 1e-12, True), (1e-4, 1e-12, False), (1e-5, 1e-11, False), (None, 1e-12, False)]
)
def test_gradients_must_be_found_in_both_dtypes(float32, float64, met):
    assert limit(stages.GRADIENTS, float32, float64).meets_requirement() is met


def test_other_stages_have_no_requirement():
    assert limit(stages.WEIGHTS, 0.1, None).meets_requirement()


def test_json_has_a_number_for_each_dtype():
    assert limit(stages.WEIGHTS, 0.5, None).to_json() == {
        "workload": "regression", "stage": stages.WEIGHTS, "float32": 0.5, "float64": None,
    }  # fmt: skip


def test_stages_that_a_workload_lacks_have_no_row(monkeypatch):
    from parity.experiments import detection_limits

    found = {stages.LOSS: 0.5, stages.GRADIENTS: 0.25}
    monkeypatch.setattr(detection_limits, "smallest_detected_error", lambda name, n, dtype, stage: found.get(stage))
    limits = sensitivity.measure_limits(["regression"], 2)
    assert [(each.stage, each.errors["float64"]) for each in limits] == list(found.items())


def test_the_table_has_a_row_for_each_limit():
    table = sensitivity.limits_table([limit(stages.LOSS, 0.5, None), limit(stages.RATE, 0.25, 0.125)])
    columns = [list(column.cells) for column in table.columns]
    assert columns[1:] == [[stages.LOSS, stages.RATE], ["0.5", "0.25"], ["-", "0.12"]]
