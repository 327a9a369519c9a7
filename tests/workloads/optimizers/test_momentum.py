import numpy as np

from tests.workloads.optimizers.steps import observed, same
from workloads.optimizers.momentum import Momentum
from workloads.optimizers.update_forms import HEAVY_BALL, KERAS_SLOT, NESTEROV, OWN

STEP = observed({"momentum": [4.0, 8.0]}, {"momentum": [4.0, 0.0]})  # 0.5 * old + gradient


def test_the_slot_adds_the_gradient_to_a_part_of_itself():
    rule = Momentum(0.5).slot_rules()["momentum"]
    assert same(rule.keep * STEP.old["momentum"] + rule.gain * rule.term(STEP), [4.0, 0.0])
    assert (rule.constant, rule.rescaled) == ("momentum", True)


def test_the_forms_of_the_update():
    forms = Momentum(0.5).update_forms()
    assert same(forms[HEAVY_BALL](STEP), [-2.0, 0.0])
    assert same(forms[NESTEROV](STEP), [-2.0, 2.0])  # -0.5 * (gradient + 0.5 * slot)
    assert same(forms[KERAS_SLOT](STEP), [4.0, 0.0])


def test_the_first_form_is_the_one_that_nesterov_chooses():
    plain, nesterov = Momentum(0.5).update_forms(), Momentum(0.5, nesterov=True).update_forms()
    assert next(iter(plain)) == next(iter(nesterov)) == OWN
    assert same(plain[OWN](STEP), [-2.0, 0.0])
    assert same(nesterov[OWN](STEP), [-2.0, 2.0])


def test_the_gradient_is_recovered_from_the_slot():
    before, after = {"momentum": np.array([4.0])}, {"momentum": np.array([4.0])}
    new, old, share = Momentum(0.5).gradient_difference(before, after, None)
    assert (new - old) / share == 2.0
