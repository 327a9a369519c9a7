"""Why an original differs from the old graph here, in so far as the first difference tells."""

import dataclasses

import pytest

from parity.comparison.difference import Difference
from parity.comparison.result import Failure, Verification
from parity.comparison.runs.lacking_ops import DIFFERENT_KERNELS, cause_of_difference
from parity.comparison.stage_summary import StageSummary
from tests.small_lift import small_plan


def difference(stage, name, gradients_fail=False, has_gradients=True):
    result = Verification("auto", "locked", passed=False)
    result.first = Failure(0, stage, Difference(name, 1, 1, 1.0, 1.0, 1, (0,), 0.0, 1.0), 0.0)
    summary = StageSummary(tensors=1 if has_gradients else 0)
    result.stages = {"gradients": dataclasses.replace(summary, failed=0 if gradients_fail else None)}
    return result


def cause(*arguments, **choices):
    return cause_of_difference(difference(*arguments, **choices), small_plan())


def test_a_variable_that_no_op_of_the_lift_changes_is_changed_by_an_op_that_it_lacks():
    said = cause("statistics", "bn/moving_mean")
    assert said.startswith("no op of the lift changes bn/moving_mean") and DIFFERENT_KERNELS not in said
    assert "--with" in said


def test_a_weight_that_differs_after_equal_gradients_may_be_changed_by_another_op():
    written = small_plan().phases[0].effects[0].writes[0]
    said = cause("weights", written)
    assert said.startswith("gradients agree") and "--with" in said and said.endswith(DIFFERENT_KERNELS)


@pytest.mark.parametrize(
    "stage, choices",
    [
        ("loss", {}),
        ("gradients", {"gradients_fail": True}),
        ("weights", {"has_gradients": False}),  # which may differ, too
        ("weights", {"gradients_fail": True}),
    ],
)
def test_other_losses_or_gradients_are_those_of_another_tensorflow(stage, choices):
    assert cause(stage, "w", **choices) == DIFFERENT_KERNELS


def test_no_difference_tells_nothing():
    assert cause_of_difference(Verification("auto", "locked"), small_plan()) == DIFFERENT_KERNELS
