import dataclasses

import pytest

from parity.causes import catalogue
from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.confinement import recognize_confined_causes
from parity.diagnosis.context.job_context import Context
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers
from workloads.workload import MovingAverage

CONTEXT = Context(1, 4, optimizer=optimizers.Momentum(0.5), combine="mean", moving_average=MovingAverage(0.5, False))
G = {"a": [1.0, 2.0, -4.0, 0.5], "b": [2.0, -1.0, 0.25, 8.0], "c": [3.0, -1.0, 2.0]}
ZERO = {name: [0.0] * len(value) for name, value in G.items()}


def evidence_of(keeps, factors=(1.0,) * 6):
    """Six steps of momentum: the part that the port's slots keep in each step, and the factor of its gradients."""
    steps, state = [], _state(ZERO, ZERO, 0)
    for number, factor in enumerate(factors):
        left, right = (
            _step(state, number, {}, 1.0),
            _step(state, number, {name: k[number] for name, k in keeps.items()}, factor),
        )
        steps.append(compared_step(left, right, state))
        state = left.state
    return made_up_evidence(steps, CONTEXT)


def _state(weights, slots, step):
    slots = {f"{name}/momentum": value for name, value in slots.items()}
    return made_up_state(weights, slots, averages=ZERO, step=step)


def _step(before, number, keeps, factor):
    scale = 1.0 + 0.5 * number
    gradient = {n: [factor * scale * x * (1 + 0.25 * number * (i % 2)) for i, x in enumerate(g)] for n, g in G.items()}
    slots = {
        n: [keeps.get(n, 0.5) * old + g for old, g in zip(before.slots[f"{n}/momentum"].tolist(), gradient[n])]
        for n in G
    }
    weights = {n: [w - 0.5 * a for w, a in zip(before.weights[n].tolist(), slots[n])] for n in G}
    averages = {n: [0.5 * (x + w) for x, w in zip(before.averages[n].tolist(), weights[n])] for n in G}
    state = _state(weights, slots, number + 1)
    state.averages = made_up_state(averages).weights
    return step_record(number, [1.0], [gradient], gradient, 0.5, state)


def confined(evidence, recognized=()):
    causes = [cause for cause in catalogue.CAUSES if not cause.last]
    return {entry.id: entry.finding for entry in recognize_confined_causes(evidence, causes, recognized)}


def test_nothing_is_confined_where_nothing_deviates_or_everything_does():
    assert confined(evidence_of({})) == {}
    assert confined(evidence_of({}, factors=(3.0,) * 6)) == {}


def test_a_constant_of_one_variable_is_named_with_the_variable():
    found = confined(evidence_of({"a": [0.75] * 6}))
    assert list(found) == ["OPTIMIZER_CONSTANT"]
    finding = found["OPTIMIZER_CONSTANT"]
    assert finding.sentence.startswith("Only in a, from step 1 on")
    assert (finding.confidence, finding.variables, finding.steps) == (HIGH, ("a",), (1, 2, 3, 4, 5))


def test_a_few_numbers_are_too_few_to_be_sure():
    assert confined(evidence_of({"c": [0.75] * 6}))["OPTIMIZER_CONSTANT"].confidence == MEDIUM


@pytest.mark.parametrize("off, confidence", [(1, MEDIUM), (2, HIGH)])
def test_one_step_alone_is_not_sure(off, confidence):
    """No second step repeats it: many a constant fits one step of a fault of another kind."""
    found = confined(evidence_of({name: [0.5] * (6 - off) + [0.75] * off for name in G}))["OPTIMIZER_CONSTANT"]
    assert found.confidence == confidence
    assert ("one step alone shows it" in found.because) == (off == 1)


def test_a_fault_of_some_steps_is_named_with_the_steps():
    found = confined(evidence_of({}, factors=(1.0, 1.0, 3.0, 1.0, 3.0, 1.0)))
    assert "GRADIENT_SCALE" in found
    assert found["GRADIENT_SCALE"].sentence.startswith("Only in ")
    assert (found["GRADIENT_SCALE"].variables, found["GRADIENT_SCALE"].steps) == ((), (2, 4))


@pytest.mark.parametrize("is_bug", [False, True])
def test_other_terms_of_the_same_do_not_explain_some_steps(is_bug):
    evidence = evidence_of({})
    for number in (2, 4):  # half of the gradient, and twice of it in the reduction
        right = evidence.steps[number].right
        right.gradients = [{name: value / 2 for name, value in right.gradients[0].items()}]
    cause = next(cause for cause in catalogue.CAUSES if cause.id == "LOSS_SHARE")
    found = recognize_confined_causes(evidence, [dataclasses.replace(cause, bug=is_bug)], [])
    assert [entry.id for entry in found] == (["LOSS_SHARE"] if is_bug else [])


def test_a_cause_of_some_steps_keeps_the_variables_that_it_names():
    evidence = evidence_of({})
    for number, step in enumerate(evidence.steps):
        if number >= 3:  # from there on the port leaves one weight alone
            step.right.state.weights["a"] = step.right_before.weights["a"]
    finding = confined(evidence)["VARIABLE_NOT_TRAINED"]
    assert (finding.variables, finding.steps, finding.confined) == (("a",), (3, 4, 5), True)


def test_a_stage_that_a_cause_explains_is_left_alone():
    evidence = evidence_of({"a": [0.75] * 6})
    cause = next(cause for cause in catalogue.CAUSES if cause.id == "UPDATE_SCALED")
    finding = confined(evidence)["OPTIMIZER_CONSTANT"]
    known = catalogue.RecognizedCause(cause, dataclasses.replace(finding, constants={}))
    assert confined(evidence, [known]) == {}
    unsure = catalogue.RecognizedCause(cause, dataclasses.replace(finding, confidence=MEDIUM, constants={}))
    assert list(confined(evidence, [unsure])) == ["OPTIMIZER_CONSTANT"]


@pytest.mark.parametrize("name", ["UPDATE_SKIPPED", "MOMENTUM_FORM", "EMA_WARM_UP", "SPARSE_DUPLICATES"])
def test_criteria_that_look_at_the_pattern_of_steps_see_all_of_them(name):
    assert not next(cause for cause in catalogue.CAUSES if cause.id == name).by_step
