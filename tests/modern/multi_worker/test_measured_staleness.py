import doctest

import numpy as np

from modern.multi_worker import measured_staleness
from modern.multi_worker.measured_staleness import count_staleness, describe_staleness


def test_updates_are_counted_by_their_staleness():
    assert count_staleness([np.int64(1), np.int64(0), np.int64(1)]) == {1: 2, 0: 1}


def test_a_negative_measurement_counts_as_none():
    assert count_staleness([-1, -2, 3]) == {0: 2, 3: 1}


def test_the_line_has_the_mean_and_each_share():
    line = describe_staleness({0: 1, 1: 2, 4: 1})
    assert line.startswith("staleness of 4 updates ")
    assert line.endswith("mean 1.50; 0: 25.0%, 1: 50.0%, 4: 25.0%")


def test_the_mean_is_over_updates():
    assert measured_staleness.mean_staleness({0: 1, 1: 2, 4: 1}) == 1.5
    assert measured_staleness.mean_staleness({}) == 0


def test_without_updates_the_mean_is_zero():
    assert describe_staleness({}).endswith(
        "staleness of 0 updates (others' updates between reading and writing): mean 0.00; "
    )


def test_the_examples_in_the_documentation_hold():
    assert doctest.testmod(measured_staleness).failed == 0
