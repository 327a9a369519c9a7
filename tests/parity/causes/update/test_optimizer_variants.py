import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.update import optimizer_variants
from parity.comparison.fits import FactorFit
from parity.diagnosis.updates import SlotFit, Update
from tests.cases import Dyadic
from tests.parity.causes.stub_step import apply_rules, local_state, values_of
from tests.parity.causes.update_facts import evidence_of_updates, slot_fit, update, updates
from workloads import optimizers

CRITERIA = {cause.id: cause.criterion for cause in optimizer_variants.CAUSES}
NAN = float("nan")


def recognized(left, right, optimizer=None):
    evidence = evidence_of_updates(left, right, optimizer or optimizers.Momentum(0.5))
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def slots(*gains, first=None, residual=0.0, decay=0.0):
    """Updates of a momentum slot that takes up these parts of the gradient; `first` in the step with an empty slot."""
    fits = [] if first is None else [slot_fit(0, gain=first, old_size=0.0)]
    fits += [SlotFit(len(fits) + i, 0.5, gain, residual, 1.0, 1.0, decay) for i, gain in enumerate(gains)]
    return updates(*[update(fit.step) for fit in fits], momentum=fits)


def moves(*factors, residual=0.0, steps=3):
    """Updates of weights a, b, ... by these factors times what the rule says."""
    fits = {name: FactorFit(factor, residual) for name, factor in zip("abc", factors)}
    made = [Update(i, 0.5, {}, FactorFit(1.0, 0.0), update().decay, [], {}, [], fits) for i in range(steps)]
    return updates(*made, momentum=[slot_fit(i) for i in range(steps)])


def test_what_the_rule_explains_is_no_cause():
    assert recognized(slots(1.0, 1.0), slots(1.0, 1.0)) == {}
    assert recognized(None, slots(1.0)) == {}
    assert recognized(moves(1.0, 1.0), moves(1.0, 1.0)) == {}


def test_dampening_is_named_with_its_number_and_what_the_first_step_does():
    found = recognized(slots(1.0, 1.0, first=1.0), slots(0.25, 0.25, first=1.0))
    assert list(found) == ["MOMENTUM_DAMPENING"]
    finding = found["MOMENTUM_DAMPENING"]
    assert (finding.confidence, dict(finding.constants)) == (HIGH, {"dampening": 0.75, "first_damped": False})
    assert "as in PyTorch" in finding.sentence
    average = recognized(slots(1.0, 1.0, first=1.0), slots(0.25, 0.25, first=0.25))["MOMENTUM_DAMPENING"]
    assert average.constants["first_damped"]


@pytest.mark.parametrize(
    "left, right, named",
    [
        (slots(1.0, 1.0), slots(1.0021, 1.0021), True),
        (slots(1.0, 1.0), slots(1.0019, 1.0019), False),
        (slots(1.0, 1.0), slots(0.5, 0.50049), True),
        (slots(1.0, 1.0), slots(0.5, 0.5006), False),
        (slots(0.5, 0.5), slots(0.5, 0.5), False),
        (slots(1.0, 1.0), slots(0.5, 0.5, residual=2e-3), False),
        (slots(1.0, 1.0), slots(-0.5, -0.5), False),  # -rate: Keras's convention
        (slots(1.0, 1.0), slots(NAN, NAN), False),
    ],
)
def test_dampening_is_one_part_that_is_not_one(left, right, named):
    assert ("MOMENTUM_DAMPENING" in recognized(left, right)) == named


@pytest.mark.parametrize(
    "left, right, named",
    [(0.0, 0.01, True), (0.01, 0.01, False), (0.0, 0.0, False), (0.0, NAN, False)],
)
def test_a_decay_that_the_slots_take_up_is_named(left, right, named):
    found = recognized(slots(1.0, 1.0, decay=left), slots(1.0, 1.0, decay=right))
    assert ("OPTIMIZER_DECAY" in found) == named
    if named:
        assert found["OPTIMIZER_DECAY"].constants == {"rate": 0.01}


def test_weights_with_a_learning_rate_of_their_own_are_named():
    found = recognized(moves(1.0, 1.0, 1.0), moves(1.0, 0.1, 1.0))
    assert list(found) == ["VARIABLE_LEARNING_RATE"]
    assert found["VARIABLE_LEARNING_RATE"].variables == ("b",)
    assert found["VARIABLE_LEARNING_RATE"].constants == {"factors": (("b", 0.1),)}
    assert recognized(moves(1.0, 1.0), moves(0.5, 0.25))["VARIABLE_LEARNING_RATE"].variables == ("a", "b")


@pytest.mark.parametrize(
    "left, right",
    [
        (moves(1.0, 1.0), moves(0.1, 0.1)),  # all by one factor: another cause
        (moves(1.0, 1.0), moves(1.0, 0.0)),  # not trained: another cause
        (moves(1.0, 0.1), moves(1.0, 0.1)),
        (moves(1.0, 1.0), moves(1.0, 0.1, residual=2e-2)),
        (moves(1.0, 1.0, steps=2), moves(1.0, 0.1, steps=2)),
        (moves(1.0, 1.0), moves(1.0, NAN)),
        (moves(1.0, 1.0), moves(1.0, 1.0015)),
    ],
)
def test_other_factors_are_no_learning_rate_of_their_own(left, right):
    assert "VARIABLE_LEARNING_RATE" not in recognized(left, right)


def test_the_slower_weight_is_the_last():
    local = local_state(weights={"a": [1.0], "b": [1.0]})
    apply_rules("last_weight_slower", local, {"a": [2.0], "b": [2.0]}, 0.25)
    assert values_of(local.weights) == {"a": [0.5], "b": [pytest.approx(0.95)]}
    assert optimizer_variants.several_weights(Dyadic()) is not None
