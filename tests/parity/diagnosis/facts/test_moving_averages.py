import numpy as np

from parity.diagnosis.facts.moving_averages import measure_moving_averages
from tests.parity.step_records import compared_step, made_up_state, step_record


def step_of(average_before, average_after, weight_before=1.0, weight_after=2.0):
    before = made_up_state({"w": [weight_before]}, averages={"w": [average_before]})
    after = made_up_state({"w": [weight_after]}, averages={"w": [average_after]})
    return compared_step(step_record(state=after), left_before=before)


def test_the_share_of_the_new_weight_is_one_minus_the_decay():
    left, right = measure_moving_averages([step_of(0.0, 0.5)])  # decay 0.75: 0 + 0.25 (2 - 0)
    assert left == right
    assert left[0].new == (0.25, 0.0)
    assert left[0].old == (0.5, 0.0)  # of the old weight, 1, it would be another share
    assert left[0].moved


def test_two_weights_tell_the_new_weights_from_the_old():
    before = made_up_state({"w": [1.0, 4.0]}, averages={"w": [0.0, 0.0]})
    after = made_up_state({"w": [2.0, 2.0]}, averages={"w": [0.5, 2.0]})
    left, _ = measure_moving_averages([compared_step(step_record(state=after), left_before=before)])
    assert left[0].old == (0.5, 0.0)
    assert left[0].new.residual > 0.5


def test_averages_that_stand_still_did_not_move():
    left, _ = measure_moving_averages([step_of(0.5, 0.5)])
    assert not left[0].moved
    assert left[0].noise == float("inf")


def test_noise_is_the_rounding_of_the_average_relative_to_its_change():
    left, _ = measure_moving_averages([step_of(4.0, 4.25)])
    assert left[0].noise == 16 * np.finfo(np.float32).eps


def test_steps_without_averages_are_left_out_side_by_side():
    with_averages = step_of(0.0, 0.5)
    without = compared_step(with_averages.left, step_record(), with_averages.left_before, made_up_state())
    left, right = measure_moving_averages([without])
    assert [len(left), len(right)] == [1, 0]
