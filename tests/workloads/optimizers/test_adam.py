import dataclasses

import numpy as np

from tests.workloads.optimizers.steps import observed, same
from workloads.optimizers.adam import Adam
from workloads.optimizers.update_forms import (
    AMSGRAD,
    CORRECTION_AHEAD,
    CORRECTION_FROZEN,
    FIRST_CORRECTION_ONLY,
    NO_BIAS_CORRECTION,
    OLD_SLOTS,
    OWN,
    SECOND_CORRECTION_ONLY,
    STEP_POWERS,
    epsilon_form,
)

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


def test_variants_of_the_bias_correction_and_amsgrad_are_formulas_of_the_slots():
    adam = Adam(beta1=0.5, beta2=0.75, epsilon=0.0)
    step = observed({"m": [2.0, 2.0], "v": [16.0, 4.0]}, {"m": [1.0, 1.0], "v": [4.0, 4.0]}, (0.25, 0.5625), step=1)
    forms = adam.update_forms()
    assert same(forms[FIRST_CORRECTION_ONLY](step), [-0.5 / 0.75 / 2] * 2)
    assert same(forms[SECOND_CORRECTION_ONLY](step), [-0.5 * np.sqrt(1 - 0.75**2) / 2] * 2)
    assert same(forms[CORRECTION_AHEAD](step), [-0.5 * np.sqrt(1 - 0.75**3) / (1 - 0.5**3) / 2] * 2)
    assert same(forms[CORRECTION_FROZEN](step), [-0.5 * 0.5 / 0.5 / 2] * 2)
    rate = 0.5 * np.sqrt(1 - 0.75**2) / 0.75
    assert same(forms[OLD_SLOTS](step), [-rate * 2 / 4, -rate * 2 / 2])
    before = observed({"m": [0.0, 0.0], "v": [0.0, 0.0]}, {"m": [2.0, 2.0], "v": [16.0, 4.0]}, (0.5, 0.75))
    assert same(forms[AMSGRAD](dataclasses.replace(step, previous=before, _history={})), [-rate / 4, -rate / 2])


def test_an_epsilon_after_the_correction_is_smaller_by_the_root_of_it():
    adam = Adam(beta1=0.5, beta2=0.75)
    step = observed({}, {"m": [1.0, 1.0], "v": [4.0, 4.0]}, (0.5, 0.75))
    own, corrected, inside = (place.formula(step, 2.0) for place in adam.epsilon_places())
    assert same(own, [-0.5 / 4] * 2)
    assert same(corrected, [-0.5 / 3] * 2)
    assert same(inside, [-0.5 / np.sqrt(6)] * 2)
