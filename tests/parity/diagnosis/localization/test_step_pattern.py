import pytest

from parity.diagnosis.localization.step_pattern import describe_steps


@pytest.mark.parametrize(
    "wrong, compared, phrase",
    [
        ([5, 6, 7], range(8), "from step 5 on"),
        ([0, 1, 2], range(8), "until step 2"),
        ([4], range(8), "in step 4 alone"),
        ([7], range(8), "in step 7 alone"),
        ([0], [0], "in step 0"),
        ([4, 9, 14], range(16), "in every 5th step, first in step 4"),
        ([1, 3, 5], range(6), "in every 2nd step, first in step 1"),
        ([0, 11, 22], range(30), "in every 11th step, first in step 0"),
        ([0, 3], range(8), "in steps 0, 3"),
        ([1, 2, 5], range(8), "in steps 1, 2, 5"),
        ([0, 2, 3, 7, 8, 9, 11], range(14), "in steps 0, 2, 3, 7, 8, 9, ..."),
    ],
)
def test_a_set_of_steps_is_described_by_its_pattern(wrong, compared, phrase):
    assert describe_steps(wrong, list(compared)) == phrase


def test_steps_that_were_not_compared_do_not_break_a_pattern():
    assert describe_steps([5, 10, 11], [0, 1, 2, 3, 4, 5, 10, 11]) == "from step 5 on"
    assert describe_steps([0, 4, 12], [0, 1, 2, 3, 4, 5, 12]) == "in every 4th step, first in step 0"
