"""Which towers' updates a statistic takes."""

import pytest
import tensorflow as tf

from workloads.numerics.statistics import STATISTICS, next_statistics, takes_proposals_of

PROPOSALS = [{"m": tf.constant(2.0)}, {"m": tf.constant(6.0)}]
CHANGES = [{"m": lambda now: now + 1.0}, {"m": lambda now: now * 4.0}]


@pytest.mark.parametrize("policy, expected", list(zip(STATISTICS, (2.0, 4.0, 6.0, 12.0))))
def test_the_next_value(policy, expected):
    found = next_statistics(policy, PROPOSALS, CHANGES, {"m": tf.constant(2.0)}, "stack")
    assert {name: float(value) for name, value in found.items()} == {"m": expected}


def test_towers_that_update_alone():
    assert [takes_proposals_of("first_tower", tower, 2) for tower in range(2)] == [True, False]
    assert all(takes_proposals_of(policy, tower, 2) for policy in STATISTICS[1::2] for tower in range(2))
