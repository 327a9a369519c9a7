"""Speed ratios of made-up block times."""

import pytest

from parity.speed.ratio import (
    SpeedRatio,
    interval_text,
    ratio_from_json,
    ratio_json,
    ratio_text,
    scaled_mad,
    speed_ratio,
    speed_verdict,
)


def test_ratio_is_right_over_left():
    ratio = speed_ratio([2.0] * 10, [1.0] * 10)
    assert ratio == SpeedRatio(median=2.0, low=2.0, high=2.0, outliers=0)


def test_drift_that_both_sides_share_leaves_the_ratio_alone():
    drift = [1.0 + 0.1 * i for i in range(12)]
    assert speed_ratio([2 * d for d in drift], drift).median == 2.0


@pytest.mark.parametrize(
    "low, high, verdict",
    [
        (1.06, 1.2, "faster"),
        (0.97, 1.04, "within 5 %"),
        (0.8, 0.94, "slower"),
        (1.0, 1.1, "undecided"),
        (0.9, 1.0, "undecided"),
        (1.05, 1.2, "undecided"),  # the margin itself is no difference
        (0.95, 1.05, "within 5 %"),
    ],
)
def test_verdicts(low, high, verdict):
    assert speed_verdict(SpeedRatio((low + high) / 2, low, high, 0)) == verdict


def test_another_margin():
    assert speed_verdict(SpeedRatio(1.1, 1.06, 1.2, 0), margin=0.25) == "within 25 %"


def test_outliers_are_counted_and_kept():
    left = [1.0, 1.01, 0.99, 1.02, 0.98, 1.01, 1.01, 0.99, 1.0, 9.0]
    assert speed_ratio(left, [1.0] * 10).outliers == 1


def test_a_steady_drift_within_a_group_cancels():
    clock = iter(range(100))
    left, right = [], []
    for _ in range(5):
        times = [1.0 + 0.1 * next(clock) for _ in range(4)]  # A B B A, slower all the time
        left += [times[0], times[3]]
        right += [times[1], times[2]]
    assert speed_ratio(left, right).median == pytest.approx(1.0, abs=1e-12)


def test_the_interval_covers_what_it_is_made_of():
    seen = speed_ratio([1.0, 1.2, 0.9, 1.1, 1.05, 0.95, 1.15, 1.0, 1.0, 1.1], [1.0] * 10)
    assert 0.9 <= seen.low <= seen.median <= seen.high <= 1.2
    assert seen.low < seen.high


def test_the_interval_is_the_same_at_every_call():
    left, right = [1.0, 1.2, 0.9, 1.1, 1.05, 0.95], [1.0] * 6
    assert speed_ratio(left, right) == speed_ratio(left, right)


def test_scaled_mad_of_a_few_numbers():
    assert scaled_mad([1.0, 2.0, 3.0, 4.0, 100.0]) == 1.4826  # deviations 2, 1, 0, 1, 97
    assert scaled_mad([5.0, 5.0]) == 0.0


def test_a_ratio_is_shown_with_its_interval_and_comes_back_from_json():
    ratio = SpeedRatio(0.5, 0.25, 0.75, 1)
    assert ratio_text(ratio) == "0.50 [0.25, 0.75]" and interval_text(ratio, 3) == "[0.250, 0.750]"
    assert ratio_from_json(ratio_json(ratio)) == ratio
    assert ratio_text(ratio_from_json(ratio_json(None))) == "-"
