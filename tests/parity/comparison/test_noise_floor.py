"""Noise floor: distances from the truth in the other precision, from made-up records."""

import numpy as np
import pytest

from parity.comparison import stages
from parity.comparison.noise_floor import NoiseFloor, StageFloor
from parity.comparison.reference_magnitude import ReferenceMagnitudes
from tests.parity.step_records import MadeUpProgram, made_up_state, step_record

NARROW_OVER_WIDE = 2.0**-52 / 2.0**-23


def record(value):
    return step_record(combined={"w": [value]})


def floor_after(left, right, again, truth, dtype="float32"):
    floor = NoiseFloor(MadeUpProgram([record(again)]), MadeUpProgram([record(truth)]), dtype)
    magnitudes = ReferenceMagnitudes()
    magnitudes.add(record(left))
    floor.load(made_up_state())
    floor.step(record(left), record(right), magnitudes)
    return floor


def test_the_distances_of_both_sides_from_the_truth():
    floor = floor_after(left=4.0, right=5.0, again=4.0, truth=2.0)
    measured = floor.to_json()[stages.COMBINED]
    assert measured == {
        "legacy_to_itself": 0.0,
        "legacy_to_truth": 0.5,  # 2 of 4, the reference magnitude
        "modern_to_truth": 0.75,
        "modern_over_legacy": 1.5,
    }
    assert floor.allowance(stages.COMBINED, "w") == 0.5
    assert floor.factor(stages.COMBINED) == 0.5  # the truth is half as long
    assert floor.allowance("no stage", "w") == 0.0


def test_a_float64_runs_distance_is_scaled_by_the_epsilons():
    floor = floor_after(left=4.0, right=4.0, again=4.0, truth=2.0, dtype="float64")
    assert floor.allowance(stages.COMBINED, "w") == 0.5 * NARROW_OVER_WIDE


def test_the_truth_is_loaded_in_the_other_precision():
    again, truth = MadeUpProgram([]), MadeUpProgram([])
    NoiseFloor(again, truth, "float32").load(made_up_state({"w": [1.0]}))
    assert again.loaded[0].weights["w"].dtype == np.float32
    assert truth.loaded[0].weights["w"].dtype == np.float64


def test_a_factor_that_is_not_finite_counts_as_none():
    assert floor_after(left=0.0, right=0.0, again=0.0, truth=1.0).factor(stages.COMBINED) == 0.0


@pytest.mark.parametrize("distances, expected", [([0.25, 0.5, 4.0], 0.5), ([0.25], 0.25)])
def test_the_median_step_counts(distances, expected):
    floor = StageFloor()
    for distance in distances:
        floor.add("w", distance, 0.0, 0.0)
    assert floor.allowance("w") == expected


def test_a_tensor_that_agreed_by_luck_gets_what_its_stage_got():
    floor = StageFloor()
    for number in range(11):
        floor.add(f"w{number}", float(number), 0.0, 0.0)
    assert floor.allowance("w0") == 9.0  # the 90th percentile
    assert floor.allowance("w10") == 10.0
