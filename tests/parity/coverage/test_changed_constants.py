"""Copies of records with one constant changed."""

import dataclasses

import pytest

from parity.coverage.changed_constants import changed_constants
from workloads import optimizers, schedules


def changes(record):
    return {(c.field, c.change) for c in changed_constants(record)}


def test_each_constant_is_changed_alone():
    found = list(changed_constants(optimizers.Adam()))
    assert [c.field for c in found] == ["beta1", "beta2", "epsilon"]
    assert found[0].record == optimizers.Adam(beta1=1 - (1 - 0.9) * 1.01)
    assert found[2].record == optimizers.Adam(epsilon=1e-8 * 10)


def test_whole_numbers_go_up_and_down_and_truth_values_turn():
    assert changes(schedules.ExponentialDecay(0.25, 3, 0.5, staircase=True)) == {
        ("rate", "0.25 -> 0.2525"),
        ("decay_steps", "3 -> 2"),
        ("decay_steps", "3 -> 4"),
        ("decay_rate", "0.5 -> 0.505"),
        ("staircase", "True -> False"),
    }


def test_zero_becomes_something():
    assert ("momentum", "0 -> 0.01") in changes(optimizers.RMSProp(momentum=0.0))


def test_entries_of_tuples_and_records_inside_are_changed_in_turn():
    @dataclasses.dataclass(frozen=True)
    class Outer:
        inner: schedules.PiecewiseConstant = schedules.PiecewiseConstant((8,), (0.25, 0.125))

    assert changes(Outer()) == {
        ("inner.boundaries[0]", "8 -> 7"),
        ("inner.boundaries[0]", "8 -> 9"),
        ("inner.rates[0]", "0.25 -> 0.2525"),
        ("inner.rates[1]", "0.125 -> 0.12625"),
    }


@pytest.mark.parametrize("record", [None, lambda step, batch: step, optimizers.Adam])
def test_what_is_no_record_has_no_constants(record):
    assert not list(changed_constants(record))


def test_a_value_that_the_record_refuses_is_left_out():
    @dataclasses.dataclass(frozen=True)
    class Positive:
        count: int = 1

        def __post_init__(self):
            if self.count < 1:
                raise ValueError

    assert changes(Positive()) == {("count", "1 -> 2")}
