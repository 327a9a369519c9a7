import numpy as np

from tests.workloads.optimizers.steps import observed, same
from workloads.optimizers.adam import Adam
from workloads.optimizers.update_forms import NO_BIAS_CORRECTION, OWN, STEP_POWERS, epsilon_form

ADAM = Adam(beta1=0.5, beta2=0.75, epsilon=1.0)
#: m = 0.5 * 0 + 0.5 * (2, -4); v = 0.75 * 0 + 0.25 * (4, 16)
STEP = observed({"m": [0.0, 0.0], "v": [0.0, 0.0]}, {"m": [1.0, -2.0], "v": [1.0, 4.0]}, powers=(0.5, 0.75))


def test_the_slots_are_moving_averages_of_the_gradient_and_its_square():
    for slot, constant in (("m", "beta1"), ("v", "beta2")):
        rule = ADAM.slot_rules()[slot]
        assert same(rule.keep * STEP.old[slot] + rule.gain * rule.term(STEP), STEP.new[slot].tolist())
        assert rule.constant == constant


def test_the_update_corrects_the_bias_and_adds_epsilon_outside_the_root():
    # The learning rate is 0.5 * sqrt(1 - 0.75) / (1 - 0.5) = 0.5.
    assert same(ADAM.update_forms()[OWN](STEP), [-0.5 * 1 / 2, 0.5 * 2 / 3])
    assert same(ADAM.update_forms()[STEP_POWERS](STEP), [-0.25, 1 / 3])
    assert same(ADAM.update_forms()[epsilon_form("1")](STEP), [-0.25, 1 / 3])
    assert same(ADAM.update_forms()[epsilon_form("0.1")](STEP), [-0.5 / 1.1, 1 / 2.1])


def test_without_correction_the_learning_rate_is_used_as_it_is():
    late = observed(STEP.old, STEP.new, powers=(0.25, 0.5625), step=1)
    assert same(ADAM.update_forms()[NO_BIAS_CORRECTION](late), [-0.25, 1 / 3])
    assert not same(ADAM.update_forms()[OWN](late), [-0.25, 1 / 3])


def test_without_recorded_powers_only_the_step_can_correct():
    unknown = observed(STEP.old, STEP.new)
    assert ADAM.update_forms()[OWN](unknown) is None
    assert same(ADAM.update_forms()[STEP_POWERS](unknown), [-0.25, 1 / 3])


def test_the_gradient_is_recovered_from_the_first_moment():
    new, old, share = ADAM.gradient_difference({"m": np.array([2.0])}, {"m": np.array([2.0])}, None)
    assert (new - old) / share == 2.0


def test_keras_needs_more_room_the_nearer_beta2_is_to_one():
    assert Adam(beta2=0.75).keras_class().update_units == 4.0
    assert Adam(beta2=0.5).keras_class().update_units == 2.0
