"""Factors that an old program wrote for its number of towers, at another number of replicas."""

import pytest

from tests.small_lift import small_plan
from workloads.lifted.plan import Combine
from workloads.lifted.reduction_factors import factor_on_reduced, is_averaged_twice, reduced_as, rescaling, sums_to_mean


@pytest.mark.parametrize(
    "kind, scale, loss_scale, factor",
    [
        ("mean", 1.0, 1.0, 1.0),
        ("sum", 1.0, 1.0, 1.0),
        ("sum", 1.0, 0.5, 0.5),
        ("sum", 1.0, -0.5, 0.5),
        ("sum", 1.0, -1.0, 1.0),
        ("concat", 0.5, 1.0, 0.5),
    ],
)
def test_sums_that_the_graph_divides_by_its_towers_are_rescaled(kind, scale, loss_scale, factor):
    assert rescaling(Combine("w", kind, "sum:0", scale, []), loss_scale, 2, 4) == factor
    assert rescaling(Combine("w", kind, "sum:0", scale, []), loss_scale, 2, 2) == 1.0


def test_a_sum_that_is_divided_by_the_towers_is_a_mean_at_other_numbers():
    """As gradients of losses that were scaled by 128: of 3 replicas, a third is taken before the 128th."""
    divided = Combine("w", "sum", "sum:0", 1 / 256, [], divided=True)
    assert (reduced_as(divided, 2, 3), factor_on_reduced(divided, 128.0, 2, 3)) == ("mean", 1 / 128)
    assert (reduced_as(divided, 2, 2), factor_on_reduced(divided, 128.0, 2, 2)) == ("sum", 1 / 256)
    affine = Combine("w", "sum", "sum:0", 1 / 256, [], affine=True, divided=True)
    assert factor_on_reduced(affine, 128.0, 2, 3) == 2
    plain = Combine("w", "sum", "sum:0", 1 / 256, [])
    assert (reduced_as(plain, 2, 3), factor_on_reduced(plain, 1.0, 2, 3)) == ("sum", 1 / 256)
    assert factor_on_reduced(Combine("w", "mean", "sum:0", 1.0, [], affine=True), 1.0, 2, 3) == 2


def test_losses_that_are_divided_by_the_towers_sum_to_a_mean():
    (phase,) = small_plan().phases
    phase.loss_scale, phase.shared_loss = 0.5, False
    assert sums_to_mean(phase, 2) and not sums_to_mean(phase, 4) and not sums_to_mean(phase, 1)
    phase.loss_scale = -0.5  # what is maximized
    assert sums_to_mean(phase, 2) and not sums_to_mean(phase, 4)
    phase.combine = [Combine("w", "mean", "mean:0", 1.0, [])]
    assert is_averaged_twice(phase, 2)
    phase.combine = [Combine("w", "sum", "sum:0", 1.0, [])]
    assert not is_averaged_twice(phase, 2)
