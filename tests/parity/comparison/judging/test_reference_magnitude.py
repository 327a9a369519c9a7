"""Reference magnitudes: the largest entry of the last ten steps, and of a combined gradient's addends."""

import numpy as np

from parity.comparison import stages
from parity.comparison.judging.reference_magnitude import WINDOW, ReferenceMagnitudes
from tests.parity.step_records import step_record


def test_the_largest_entry_of_the_window_counts():
    magnitudes = ReferenceMagnitudes()
    magnitudes.add(step_record(combined={"w": [-4.0, 1.0]}))
    assert magnitudes.magnitude(stages.COMBINED, "w") == 4.0
    for _ in range(WINDOW - 1):
        magnitudes.add(step_record(combined={"w": [1.0, 0.0]}))
    assert magnitudes.magnitude(stages.COMBINED, "w") == 4.0  # still within the window
    magnitudes.add(step_record(combined={"w": [1.0, 0.0]}))
    assert magnitudes.magnitude(stages.COMBINED, "w") == 1.0


def test_the_replicas_gradients_are_the_addends_of_a_combined_one():
    magnitudes = ReferenceMagnitudes()
    magnitudes.add(step_record(gradients=[{"w": [8.0]}, {"w": [-8.0]}], combined={"w": [0.0]}))
    assert magnitudes.magnitude(stages.COMBINED, "w") == 8.0
    magnitudes.add(step_record(combined={"w": [0.0]}))  # the addends of this step alone
    assert magnitudes.magnitude(stages.COMBINED, "w") == 0.0


def test_what_is_not_finite_and_what_is_unknown_have_no_magnitude():
    magnitudes = ReferenceMagnitudes()
    magnitudes.add(step_record(losses=[float("inf")], combined={"w": [np.nan, 2.0]}))
    assert magnitudes.magnitude(stages.LOSS, "replica 0") == 0.0
    assert magnitudes.magnitude(stages.COMBINED, "w") == 2.0
    assert magnitudes.magnitude(stages.COMBINED, "other") == 0.0


def test_noise_that_is_zero_on_the_left_side_has_the_magnitude_of_its_repetition():
    magnitudes = ReferenceMagnitudes()
    magnitudes.add(step_record(combined={"w": [0.0, 0.0]}))
    magnitudes.add_repetition(step_record(combined={"w": [3e-9, -5e-9], "other": [1.0]}))
    assert magnitudes.magnitude(stages.COMBINED, "w") == float(np.float32(5e-9))
    assert magnitudes.magnitude(stages.COMBINED, "other") == 0.0
    magnitudes.add(step_record(combined={"w": [0.0, 0.0]}))
    assert magnitudes.magnitude(stages.COMBINED, "w") == 0.0  # that of this step alone
