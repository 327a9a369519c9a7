import pytest

from parity.diagnosis.stage_checks.step_pattern import describe_steps


@pytest.mark.parametrize(
    "steps, judged, text",
    [
        ([0, 1, 2], [0, 1, 2], "in every step (3)"),
        ([4], [4], "in step 4, the only one judged"),
        ([4], [0, 4], "in step 4, the last one judged (1 of 2 steps)"),
        ([4], [0, 4, 5], "in step 4 (1 of 3 steps)"),
        ([3, 4], [0, 3, 4], "from step 3 on (2 of 3 steps)"),
        ([0, 1], [0, 1, 2], "until step 1 (2 of 3 steps)"),
        ([4, 9, 14], list(range(15)), "in every 5th step from step 4 on (3 of 15 steps)"),
        ([4, 14], list(range(15)), "in every 10th step from step 4 on (2 of 15 steps)"),
        ([2, 4, 6], [1, 2, 3, 4, 6, 8], "in steps 2, 4, 6 (3 of 6 steps)"),  # step 8 was judged and is not off
        ([11, 22], list(range(25)), "in every 11th step from step 11 on (2 of 25 steps)"),
        (list(range(0, 20, 3))[:2] + [7, 8, 9, 11, 12, 14, 15], list(range(16)),
         "in steps 0, 3, 7, 8, 9, 11, 12, 14 ... (9 of 16 steps)"),
    ],
)  # fmt: skip
def test_steps_are_described_by_their_pattern(steps, judged, text):
    assert describe_steps(steps, judged) == text
