from types import SimpleNamespace

import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.inputs import initial_slots
from parity.comparison.fits import FactorFit
from parity.diagnosis.facts.initial_state import InitialDifferences, InitialWeight
from tests.cases import Dyadic
from tests.parity.causes.stub_step import FAULTS, change_of
from tests.parity.step_records import made_up_evidence, made_up_state
from workloads import optimizers
from workloads.job import Job

CRITERIA = {cause.id: cause.criterion for cause in initial_slots.CAUSES}


def recognized(slots=None, weights=(), reset=(), reset_to=None, step=0):
    facts = InitialDifferences(list(weights), dict(slots or {}), list(reset), dict(reset_to or {}), [], step)
    evidence = made_up_evidence(initial=facts)
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def test_equal_slots_are_no_cause():
    assert recognized() == {}


def test_rmsprop_s_mean_square_is_named():
    found = recognized({"rms": (1.0, 0.0)})
    assert list(found) == ["RMSPROP_INIT_ONES"]
    assert found["RMSPROP_INIT_ONES"].confidence == HIGH
    assert found["RMSPROP_INIT_ONES"].sentence.startswith(
        "RMSProp's mean square starts at 1 in legacy and at 0 in the port:"
    )


def test_other_slots_are_named_with_their_values():
    found = recognized({"accumulator": (0.1, 0.0), "m": (0.0, 0.5)})
    assert list(found) == ["SLOT_START"]
    assert found["SLOT_START"].sentence == (
        "slot accumulator starts at 0.1 in legacy and at 0 in the port; slot m starts at 0 in legacy and at 0.5 in the "
        "port."
    )


@pytest.mark.parametrize("slot", ["beta1_power", "beta2_power"])
def test_powers_of_the_betas_are_constants_of_the_optimizer(slot):
    assert recognized({slot: (0.9, 0.8)}) == {}


def test_lost_slots_of_a_checkpoint_are_named():
    found = recognized(reset=["a/m", "b/m"], reset_to={"m": 0.0}, step=3)
    assert list(found) == ["CKPT_SLOTS_LOST"]
    assert found["CKPT_SLOTS_LOST"].sentence == (
        "The weights are legacy's of step 3, but 2 slots have the values of a new optimizer (m = 0): the checkpoint's "
        "slots were not restored."
    )


def test_slots_are_not_lost_alone_where_the_weights_differ_too():
    weight = InitialWeight("w", 2, FactorFit(1.0, 0.5), 1.0)
    assert recognized(weights=[weight], reset=["w/m"], reset_to={"m": 0.0}, step=3) == {}


def changed_slots(fault, slots, optimizer=None):
    state = made_up_state(slots=slots)
    setup = SimpleNamespace(job=Job(Dyadic(optimizer=optimizer or optimizers.GradientDescent()), 2, 8))
    change_of(fault).states[0](state, setup)
    return {name: value.tolist() for name, value in state.slots.items()}


def test_faults_fill_one_slot_of_every_weight():
    assert changed_slots("rmsprop_from_zeros", {"a/rms": [1.0, 1.0], "b/rms": [1.0], "a/momentum": [2.0]}) == {
        "a/rms": [0.0, 0.0],
        "b/rms": [0.0],
        "a/momentum": [2.0],
    }
    filled = changed_slots("adagrad_from_zeros", {"a/accumulator": [0.5], "accumulator_of/m": [2.0]})
    assert filled == {"a/accumulator": [pytest.approx(1e-3)], "accumulator_of/m": [2.0]}


def test_faults_give_slots_and_powers_the_values_of_a_new_optimizer():
    slots = {"a/m": [5.0, 6.0], "a/v": [7.0, 8.0], "beta1_power": 0.125, "beta2_power": 0.25}
    assert changed_slots("adam_slots_not_restored", slots, optimizers.Adam(0.5, 0.75)) == {
        "a/m": [0.0, 0.0],
        "a/v": [0.0, 0.0],
        "beta1_power": 0.5,
        "beta2_power": 0.75,
    }
    assert [FAULTS[name].start for name in ("slots_not_restored", "adam_slots_not_restored")] == [3, 3]
