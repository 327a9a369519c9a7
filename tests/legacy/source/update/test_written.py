"""What the lines of a written update use."""

import pytest

from legacy.source.update.gradient_path import GradientPath
from legacy.source.update.shared import SharedFactor
from legacy.source.update.written import WrittenUpdate, loss_name
from tests.small_lift import small_plan


def written(*lines):
    path = GradientPath(*[None] * len(GradientPath._fields))
    return WrittenUpdate("train", small_plan().phases[0], None, path, ["A", "B"], list(lines), SharedFactor([], {}, []))


@pytest.mark.parametrize(
    "line, used", [("x = losses[0]", True), ('variables["losses"].assign(x)', False), ("own_losses = 1", False)]
)
def test_the_list_of_losses_is_told_from_other_names(line, used):
    assert written(line).uses_losses is used


def test_names():
    assert written().group == "A + B"
    assert [loss_name(0), loss_name(2)] == ["loss", "loss3"]
