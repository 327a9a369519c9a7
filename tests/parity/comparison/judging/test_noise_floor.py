"""Noise floor: distances from the truth in the other precision, from made-up records."""

import pytest

from parity.comparison import stages
from parity.comparison.judging.noise_floor import NoiseFloor, StageFloor
from parity.comparison.judging.reference_magnitude import ReferenceMagnitudes
from parity.comparison.references import ReferenceRecords
from tests.parity.step_records import step_record

NARROW_OVER_WIDE = 2.0**-52 / 2.0**-23


def record(value):
    return step_record(combined={"w": [value]})


def floor_after(left, right, again, truth, dtype="float32"):
    floor = NoiseFloor(dtype)
    magnitudes = ReferenceMagnitudes()
    magnitudes.add(record(left))
    references = ReferenceRecords(record(again), None if truth is None else record(truth), None)
    floor.add(record(left), record(right), references, magnitudes)
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


def test_a_recordings_own_distance_from_the_truth_is_no_floor():
    floor = floor_after(left=4.0, right=2.0, again=2.0, truth=2.0)  # a recorded fault, judged against a clean program
    assert floor.to_json()[stages.COMBINED]["legacy_to_itself"] == 0.5
    assert floor.allowance(stages.COMBINED, "w") == floor.factor(stages.COMBINED) == 0.0 and floor.noise() == []


def test_a_float64_runs_distance_is_scaled_by_the_epsilons():
    floor = floor_after(left=4.0, right=4.0, again=4.0, truth=2.0, dtype="float64")
    assert floor.allowance(stages.COMBINED, "w") == 0.5 * NARROW_OVER_WIDE


def test_without_a_truth_only_the_repetition_is_measured():
    floor = floor_after(left=4.0, right=4.0, again=5.0, truth=None)
    assert floor.to_json()[stages.COMBINED] == {"legacy_to_itself": 0.25}
    assert floor.allowance(stages.COMBINED, "w") == 0.0 and floor.noise() == []


@pytest.mark.parametrize("truth, noise", [(3.5, [(stages.COMBINED, "w")]), (3.75, [])])
def test_a_tensor_far_from_the_truth_is_noise(truth, noise):
    assert floor_after(left=4.0, right=4.0, again=4.0, truth=truth).noise() == noise


def test_a_factor_that_is_not_finite_counts_as_none():
    assert floor_after(left=0.0, right=0.0, again=0.0, truth=1.0).factor(stages.COMBINED) == 0.0


@pytest.mark.parametrize("distances, expected", [([0.25, 0.5, 4.0], 0.5), ([0.25], 0.25), ([], 0.0)])
def test_the_median_step_counts(distances, expected):
    floor = StageFloor()
    for distance in distances:
        floor.add("w", distance, 0.0)
    assert floor.allowance("w") == expected


def test_a_tensor_gets_its_own_distance_and_not_that_of_a_noisy_one():
    floor = StageFloor()
    floor.add("noisy", 2.0, 2.0)
    floor.add("precise", 2.0**-20, 2.0**-20)
    assert (floor.allowance("precise"), floor.names_beyond(0.1)) == (2.0**-20, ["noisy"])
