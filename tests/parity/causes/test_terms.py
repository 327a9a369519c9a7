"""A port in other terms is judged in legacy's: what it does wrong besides shows, and alone nothing is left over."""

import dataclasses

import numpy as np
import pytest

from parity.causes.catalogue import recognize_causes
from parity.causes.terms import RecordingInTerms, in_legacys_terms, terms_alone, terms_beside_rounding
from parity.causes.unexplained import unexplained_deviations
from parity.comparison import stages
from parity.diagnosis.context.job_context import Context
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers
from workloads.program import Program

RATE, REPLICAS = 0.5, 4
CONTEXT = Context(REPLICAS, 8, optimizers.Momentum(0.5), combine="mean")

#: Gradients of the four replicas' mean losses, in two weights of two elements: no two of them are parallel.
GRADIENTS = [{"w": [2.0, 4.0], "u": [1.0, 8.0]}, {"w": [4.0, -8.0], "u": [2.0, 2.0]}]
GRADIENTS += [{"w": [8.0, 2.0], "u": [-4.0, 1.0]}, {"w": [2.0, 2.0], "u": [1.0, 1.0]}]
LOSSES = [1.0, 2.0, 4.0, 8.0]
MEAN = {"w": np.float32([4.0, 0.0]), "u": np.float32([0.0, 3.0])}
FIRST = {"w": np.float32([1.0, 2.0]), "u": np.float32([4.0, 8.0])}


def of_step(numbers, step):
    """Gradients of a step, {weight: array}: those of one weight grow and the other's shrink, so that none repeats."""
    factors = {"w": 2.0**step, "u": 2.0**-step}
    return {name: np.float32(value) * np.float32(factors[name]) for name, value in numbers.items()}


def taken(number, before, keras=False, shares=False, constrained=False):
    """The record of a step of momentum SGD from a state; `keras`, `shares` are terms, the others are faults."""
    terms, mean = -RATE if keras else 1.0, of_step(MEAN, number)
    slots = {n: np.float32(0.5 * before.slots[f"{n}/momentum"] + terms * mean[n]) for n in MEAN}
    moved = {n: np.float32(before.weights[n] - RATE * slots[n] / terms) for n in MEAN}
    weights = {**moved, "u": moved["u"] / np.float32(2)} if constrained else moved
    share = 1 / REPLICAS if shares else 1.0
    return step_record(
        number,
        losses=[loss * share for loss in LOSSES],
        gradients=[{n: g * np.float32(share) for n, g in of_step(of, number).items()} for of in GRADIENTS],
        combined=mean,
        learning_rate=RATE,
        state=made_up_state(weights, {f"{n}/momentum": value for n, value in slots.items()}, step=number + 1),
    )


def evidence(**port):
    start = made_up_state(FIRST, {f"{name}/momentum": [0.0, 0.0] for name in FIRST})
    steps, left, right = [], start, start
    for number in range(3):
        a, b = taken(number, left), taken(number, right, **port)
        steps.append(compared_step(a, b, left, right))
        left, right = a.state, b.state
    return made_up_evidence(steps, CONTEXT)


def explained(facts):
    found = in_legacys_terms(facts, recognize_causes(facts))
    return found, unexplained_deviations(found.evidence, found.recognized)


@pytest.mark.parametrize(
    "port, terms",
    [
        ({}, []),
        ({"keras": True}, ["SLOT_CONVENTION"]),
        ({"shares": True}, ["LOSS_SHARE"]),
        ({"keras": True, "shares": True}, ["LOSS_SHARE", "SLOT_CONVENTION"]),
    ],
)
def test_other_terms_alone_leave_nothing_over(port, terms):
    found, left_over = explained(evidence(**port))
    assert [entry.id for entry in found.recognized] == terms
    assert left_over == []
    assert found.evidence.deviations.found == []  # in legacy's terms both sides are one


def test_what_is_in_legacys_terms_is_left_as_it_is():
    facts = evidence(constrained=True)
    assert in_legacys_terms(facts, []).evidence is facts


@pytest.mark.parametrize("port", [{"keras": True}, {"keras": True, "shares": True}])
def test_a_weight_that_is_changed_after_its_update_shows_beside_another_convention_of_slots(port):
    """What the convention changes, it changes in all weights and slots: it hid whatever else they did."""
    facts = evidence(constrained=True, **port)
    found, left_over = explained(facts)
    assert {(entry.stage, entry.variable) for entry in left_over} == {(stages.WEIGHTS, "u")}
    assert unexplained_deviations(facts, recognize_causes(facts)) == []  # in the port's own terms it does not show
    assert {"SLOT_CONVENTION"} <= {entry.id for entry in found.recognized}


def test_a_gradient_that_differs_beside_shares_is_the_one_that_is_off():
    facts = evidence(shares=True)
    for step in facts.steps:
        for number, gradients in enumerate(step.right.gradients):
            gradients["u"] = gradients["u"] * np.float32([1.5, 1 + number])
        step.right.combined["u"] = np.sum([gradients["u"] for gradients in step.right.gradients], axis=0)
    found, left_over = explained(facts)
    assert "LOSS_SHARE" in [entry.id for entry in found.recognized]
    assert {entry.variable for entry in left_over if entry.stage == stages.GRADIENTS} <= {"u"}
    first = found.evidence.steps[0].right
    assert np.array_equal(first.gradients[1]["w"], np.float32([4.0, -8.0]))
    assert [float(loss) for loss in first.losses] == LOSSES


def test_a_sum_of_whole_gradients_is_no_sum_of_shares():
    """Each replica's loss and gradients are legacy's, and their sum is four times its mean: a bug, and nothing else."""
    facts = evidence()
    for step in facts.steps:
        step.right = dataclasses.replace(
            step.right, combined={name: 4 * value for name, value in step.left.combined.items()}
        )
    found = in_legacys_terms(facts, recognize_causes(facts))
    assert found.evidence is facts
    assert found.recognized[0].id == "LOSS_NOT_DIVIDED"


class Records(Program):
    """Hands out the records of a run."""

    side = "legacy"
    manifest = {"environment": {"tensorflow": "1.15.5"}}

    def __init__(self, facts):
        self.records, self.now = [step.right for step in facts.steps], facts.right

    def variables(self):
        return ()

    def describe(self):
        return {}

    def load(self, state):
        raise NotImplementedError

    def state(self):
        return self.now

    def step(self):
        record = self.records.pop(0)
        self.now = record.state
        return record


def test_a_recording_in_other_terms_shows_legacys_numbers_bit_for_bit_in_its_own_types():
    port, legacy = evidence(keras=True, shares=True), evidence()
    terms = terms_alone(recognize_causes(port))
    assert {entry.id for entry in terms} == {"LOSS_SHARE", "SLOT_CONVENTION"}
    with RecordingInTerms(Records(port), terms, optimizers.Momentum()) as shown:
        assert shown.manifest == Records.manifest
        start = shown.state().slots
        assert not np.signbit(start["w/momentum"]).any() and start["w/momentum"].dtype == np.float32
        for step in legacy.steps:
            record, expected = shown.step(), step.left
            assert [float(loss) for loss in record.losses] == [float(loss) for loss in expected.losses]
            for own, other in zip(record.gradients, expected.gradients):
                assert all(np.array_equal(own[name], other[name]) for name in other)
            for name, slot in expected.state.slots.items():
                assert np.array_equal(record.state.slots[name], slot) and record.state.slots[name].dtype == slot.dtype


@pytest.mark.parametrize("fault", [{"constrained": True}, {"constrained": True, "shares": True}])
def test_terms_beside_a_fault_are_not_alone(fault):
    facts, recognized = in_legacys_terms(evidence(keras=True, **fault), recognize_causes(evidence(keras=True, **fault)))
    assert not terms_alone(recognized) or unexplained_deviations(facts, recognized)


def test_terms_are_found_beside_roundings_of_half_precision():
    facts = evidence(keras=True, shares=True)
    for step in facts.steps:
        for number, gradients in enumerate(step.right.gradients):
            gradients["w"] = gradients["w"] * np.float32([1 + 2.0**-8, 1 - number * 2.0**-8])
        step.right.combined["w"] = np.sum([gradients["w"] for gradients in step.right.gradients], axis=0)
    terms = terms_beside_rounding(facts, recognize_causes(facts))
    assert terms[0].id == "LOSS_SHARE" and terms[0].finding.constants["replica"] == 1 / facts.replicas
    assert terms_beside_rounding(evidence(), []) == []
