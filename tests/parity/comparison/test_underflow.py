"""Gradients that differ by underflow alone, and others."""

import numpy as np
import pytest

from parity.comparison.underflow import differ_by_underflow_alone
from workloads.program import State, StepRecord


def record(*gradient, dtype=np.float32):
    """A record of one replica's gradient."""
    return StepRecord(0, [], [], [{"w": np.array(gradient, dtype)}], {}, np.float32(0), State(0, {}, {}, {}, {}))


@pytest.mark.parametrize(
    "left, right, alone",
    [
        ([1.0, 3e-38], [1.0, -0.0], True),
        ([0.0], [-0.0], True),
        ([1.0, 3e-38], [1.0, 3e-38], False),  # nothing differs
        ([1.0, 3e-38], [1.0 + 2.0**-23, -0.0], False),  # another element does, too
        ([1e-20], [0.0], False),  # far from underflow
        ([np.nan], [0.0], False),
    ],
)
def test_tiny_gradients_alone(left, right, alone):
    assert differ_by_underflow_alone(record(*left), record(*right)) is alone


def test_the_bound_follows_the_dtype():
    assert differ_by_underflow_alone(record(1e-305, dtype=np.float64), record(0.0, dtype=np.float64))
    assert not differ_by_underflow_alone(record(3e-38, dtype=np.float64), record(0.0, dtype=np.float64))
