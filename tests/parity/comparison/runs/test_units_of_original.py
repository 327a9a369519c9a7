"""The allowance of an original's long sums, by its version."""

import types

import pytest

from parity.comparison import stages
from parity.comparison.judging import tolerance
from parity.comparison.runs.three_ways import units_of_original
from tests.legacy.saved.analysis.test_summation import program
from tests.legacy.saved.graphs import traced

PLAN = types.SimpleNamespace(
    batch=4,
    phases=[types.SimpleNamespace(losses=["loss:0"], gradients=[{"w": "gradient:0"}], combine=[])],
)


@pytest.mark.parametrize("version", ["0.12.1", "1.4.1", "1.12.0", "0.12.head"])
def test_units_of_a_running_sum(version):
    assert units_of_original(PLAN, traced(program), version) == {
        stages.LOSS: tolerance.running_sum_units(2400),
        stages.GRADIENTS: 10.0,
        stages.COMBINED: 10.0,
        stages.SLOTS: 20.0,
    }


@pytest.mark.parametrize("version", ["1.15.5", "2.21.0", "None"])
def test_later_versions_add_pairwise_and_an_unknown_one_is_allowed_nothing(version):
    assert units_of_original(PLAN, traced(program), version) == {}


def test_what_was_measured_is_allowed_and_ten_times_that_is_not():
    """A mean over 600,000 numbers was 6e-5 off in the original."""
    allowed = tolerance.running_sum_units(600_000) * 2.0**-23
    assert 6e-5 < allowed < 6e-4
    assert tolerance.running_sum_units(1) == 1.0
