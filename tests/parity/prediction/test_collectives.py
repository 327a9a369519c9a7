"""Formulas of all-reduces, in powers of two."""

import pytest

from parity.prediction import collectives
from parity.prediction.machines.machine import Link

#: A quarter of a second of latency, eight bytes a second.
LINK = Link("link", 8.0, 0.25)


def test_by_hand():
    assert collectives.ring_seconds(64.0, 4, LINK) == 6 * 0.25 + 6 / 4 * 8
    assert collectives.tree_seconds(64.0, 4, LINK) == 2 * 2 * (0.25 + 8)
    assert collectives.halving_seconds(64.0, 4, LINK) == 2 * 2 * 0.25 + 2 * 3 / 4 * 8
    assert collectives.central_seconds(64.0, 4, LINK) == 6 * (0.25 + 8)


def test_one_member_has_nothing_to_reduce():
    for name, formula in collectives.ALGORITHMS.items():
        assert formula(64.0, 1, LINK) == 0.0, name
    assert collectives.hierarchical_seconds(64.0, 1, 1, LINK, LINK) == 0.0


@pytest.mark.parametrize("size, expected", [(2.0**-10, "halving"), (2.0**20, "halving")])
def test_the_fastest_of_sixteen_is_never_one_device(size, expected):
    assert collectives.fastest(size, 16, LINK)[0] == expected


def test_a_ring_moves_as_few_bytes_as_any_and_more_messages():
    latency, bandwidth = Link("l", 2.0**40, 1.0), Link("b", 1.0, 0.0)
    for members in (2, 4, 8, 16):
        assert collectives.ring_seconds(64.0, members, bandwidth) <= collectives.tree_seconds(64.0, members, bandwidth)
        assert collectives.halving_seconds(64.0, members, bandwidth) == collectives.ring_seconds(
            64.0, members, bandwidth
        )
    assert collectives.ring_seconds(0.0, 16, latency) == 30 > collectives.tree_seconds(0.0, 16, latency) == 8


def test_two_levels_spare_the_slow_network():
    inside, between = Link("inside", 2.0**10, 0.0), Link("between", 1.0, 0.0)
    flat = collectives.ring_seconds(64.0, 8, between)
    assert collectives.hierarchical_seconds(64.0, 4, 2, inside, between) == 2 * 3 / 4 * 64 / 2**10 + 64 < flat
