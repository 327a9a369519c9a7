"""Small factors are found: in one tensor's worst element they would be lost."""

import pytest

from parity.comparison import stages
from parity.qualification import sensitivity


@pytest.mark.parametrize("dtype, e", [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("stage", [stages.GRADIENTS, stages.COMBINED])
def test_a_factor_of_all_gradients_is_found(stage, dtype, e):
    assert sensitivity.detected("regression", 2, dtype, stage, e)


def test_a_factor_below_rounding_is_not():
    assert not sensitivity.detected("regression", 2, "float32", stages.GRADIENTS, 1e-9)


def test_a_stage_that_a_workload_lacks_is_not_measured():
    assert sensitivity.detected("regression", 2, "float32", stages.STATISTICS, 0.1) is None
