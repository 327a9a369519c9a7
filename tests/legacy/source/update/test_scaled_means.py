"""The mean of the towers' gradients in front of the constants that an update multiplies it by."""

import pytest

from legacy.source.update.scaled_means import before_constants
from tests.legacy.source.update.test_multiples import momentum_by_hand
from tests.legacy.variants.programs import lifted


@pytest.mark.parametrize("divisor, is_mean", [(2.0, True), (5.0, False)])
def test_the_mean_is_found_where_a_constant_divides_by_the_towers(divisor, is_mean, tmp_path):
    lift = lifted(momentum_by_hand(lambda total: total / divisor), tmp_path).job.workload
    (combine,) = lift.plan.phases[0].combine
    found = before_constants(lift.graph, combine, lift.plan.towers)
    assert (found.scale == 0.5) == is_mean and (found == combine) != is_mean
