"""Formulas of the update, injected into a port of two weights with Adam."""

import dataclasses

import numpy as np
import pytest

from parity.causes.update.formula_changes import form_named, updates_by_formula
from parity.confirmation.injected_port import InjectedPort, UserStep
from tests.cases import Dyadic, setup
from workloads import optimizers
from workloads.optimizers import update_forms

ADAM = optimizers.Adam(beta1=0.5, beta2=0.75)


@pytest.fixture(scope="module")
def records():
    """{name of a form: the records of two steps of a port that moves its weights by it}."""
    dyadic = setup(Dyadic(optimizer=ADAM))
    with dyadic.modern_program() as program:
        steps = [UserStep(program.state(), program.step())]
        steps.append(UserStep(steps[0].record.state, program.step()))
    found = {"the port": [step.record for step in steps]}
    for form in (update_forms.OWN, update_forms.NO_BIAS_CORRECTION, update_forms.AMSGRAD):
        change = updates_by_formula(form, ADAM)
        with InjectedPort(dyadic, [change], steps[0].before) as port:
            found[form.name] = port.take_steps(steps, given=True)
    return found


def test_the_optimizers_own_formula_changes_nothing(records):
    for mine, port in zip(records[update_forms.OWN.name], records["the port"]):
        for name, weight in port.state.weights.items():
            np.testing.assert_allclose(mine.state.weights[name], weight, rtol=3e-7)
        assert mine.state.slots == port.state.slots


def test_without_bias_correction_the_first_update_has_another_length(records):
    plain, port = records[update_forms.NO_BIAS_CORRECTION.name][0], records["the port"][0]
    moved, expected = plain.state.weights["a"] - 1.0, port.state.weights["a"] - 1.0
    # sqrt(1 - beta2) / (1 - beta1) is 0.5 / 0.5 in the first step, and sqrt(7 / 16) / 0.75 in the second.
    np.testing.assert_allclose(moved, expected, rtol=1e-5)
    plain, port = (records[name][1] for name in (update_forms.NO_BIAS_CORRECTION.name, "the port"))
    before = records["the port"][0].state.weights["a"]
    ratio = (plain.state.weights["a"] - before) / (port.state.weights["a"] - before)
    np.testing.assert_allclose(ratio, 0.75 / np.sqrt(7 / 16), rtol=1e-4)


def test_a_formula_remembers_the_steps_before(records):
    assert len(records[update_forms.AMSGRAD.name]) == 2
    assert all(np.isfinite(record.state.weights["a"]) for record in records[update_forms.AMSGRAD.name])


def test_forms_are_found_by_their_names():
    assert form_named(ADAM, update_forms.AMSGRAD.name) is update_forms.AMSGRAD
    assert form_named(dataclasses.replace(ADAM), "no such form") is None


def test_a_slot_that_holds_the_change_holds_the_formulas():
    rmsprop = optimizers.RMSProp(decay=0.5, momentum=0.5, epsilon=0.0)
    dyadic = setup(Dyadic(optimizer=rmsprop))
    with dyadic.modern_program() as program:
        step = UserStep(program.state(), program.step())
    held = {}
    for form in (update_forms.OWN, update_forms.RATE_OUTSIDE):
        with InjectedPort(dyadic, [updates_by_formula(form, rmsprop)], step.before) as port:
            (record,) = port.take_steps([step], given=True)
        held[form] = record.state.slots["a/momentum"]
        np.testing.assert_allclose(record.state.weights["a"], step.record.state.weights["a"], rtol=1e-6)
    np.testing.assert_allclose(held[update_forms.OWN], step.record.state.slots["a/momentum"], rtol=1e-6)
    assert held[update_forms.RATE_OUTSIDE] == held[update_forms.OWN] * 16
