import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.update import step_length
from tests.parity.causes.stub_step import apply_rules, local_state, values_of
from tests.parity.causes.update_facts import evidence_of_updates, update, updates
from workloads import optimizers

CRITERIA = {cause.id: cause.criterion for cause in step_length.CAUSES}
NAN = float("nan")


def recognized(left, right):
    evidence = evidence_of_updates(left, right, optimizers.GradientDescent())
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def test_updates_as_the_rule_says_are_no_cause():
    assert recognized(updates(), updates()) == {}
    assert recognized(None, updates()) == {}


def decaying(multiple=-0.025, share=0.5, residual=1e-6, alone=0.5, learning_rate=0.5, step=0):
    """A step whose change is fitted with the weight to `residual`, and without it to `alone`."""
    return update(step, learning_rate, factor=(1.0, alone), decay=(multiple, share, residual))


def test_a_decoupled_decay_is_named():
    found = recognized(updates(), updates(decaying(), decaying(-0.0125, learning_rate=0.25, step=1)))
    assert list(found) == ["WEIGHT_DECAY_DECOUPLED"]
    assert found["WEIGHT_DECAY_DECOUPLED"].confidence == HIGH
    assert found["WEIGHT_DECAY_DECOUPLED"].sentence == (
        "In each step the port also subtracts 0.05 x the learning rate of every weight from it: decoupled weight decay "
        "(AdamW), which legacy does not have."
    )
    assert found["WEIGHT_DECAY_DECOUPLED"].because.endswith("residual 1.0e-06")


@pytest.mark.parametrize(
    "known, named",
    [
        ({"share": 1.1e-3}, True),
        ({"share": 0.9e-3}, False),
        ({"residual": 0.9e-2}, True),
        ({"residual": 1.1e-2}, False),
        ({"residual": 1e-3, "alone": 2.1e-2}, True),
        ({"residual": 1e-3, "alone": 1.9e-2}, False),
        ({"alone": NAN}, True),  # the rule expects no change at all
        ({"learning_rate": 0.0}, False),
    ],
)
def test_a_decoupled_decay_explains_what_the_rule_does_not(known, named):
    assert list(recognized(updates(), updates(decaying(**known)))) == (["WEIGHT_DECAY_DECOUPLED"] if named else [])


@pytest.mark.parametrize("second, named", [(0.96, True), (0.94, False)])
def test_a_decoupled_decay_has_one_rate_within_five_in_a_hundred(second, named):
    right = updates(decaying(), decaying(-0.025 * second, step=1))
    assert ("WEIGHT_DECAY_DECOUPLED" in recognized(updates(), right)) == named


@pytest.mark.parametrize(
    "known, named",
    [({}, False), ({"share": 0.9e-3}, True), ({"residual": 1.1e-2}, True), ({"residual": 0.9e-2}, False)],
)
def test_legacy_must_not_have_that_decay_too(known, named):
    assert ("WEIGHT_DECAY_DECOUPLED" in recognized(updates(decaying(**known)), updates(decaying()))) == named


def test_weights_that_never_change_are_named():
    right = updates(update(0, still=["a", "b", "c"]), update(1, still=["b", "a"]))
    found = recognized(updates(update(0), update(1, still=["b"])), right)
    assert list(found) == ["VARIABLE_NOT_TRAINED"]
    assert found["VARIABLE_NOT_TRAINED"].sentence == (
        "One weight never changes in the port though the optimizer gets their gradients: a."
    )
    assert recognized(right, right) == {}


def test_several_weights_are_counted_and_four_are_listed():
    right = updates(update(still=list("fedcba")))
    assert recognized(updates(), right)["VARIABLE_NOT_TRAINED"].sentence == (
        "6 weights never change in the port though the optimizer gets their gradients: a, b, c, d."
    )


def test_a_weight_that_stays_in_one_step_is_trained():
    assert recognized(updates(update(0), update(1)), updates(update(0, still=["a"]), update(1))) == {}


def steps(*factors):
    """Steps whose change is that many times the expected one; where it is none, the weight stays."""
    return updates(*[update(i, factor=(f, 0.0), still=[] if f else ["a"]) for i, f in enumerate(factors)])


def test_steps_that_update_nothing_are_named():
    found = recognized(steps(1.0, 1.0, 1.0), steps(1.0, 0.0, 1.0))
    assert list(found) == ["UPDATE_SKIPPED"]
    assert found["UPDATE_SKIPPED"].sentence == (
        "None of the port's weights changes in 1 of 3 steps (first at step 1); legacy's weights change."
    )


def test_no_step_or_every_step_without_an_update_is_another_cause():
    assert recognized(steps(1.0, 1.0), steps(1.0, 1.0)) == {}
    assert list(recognized(steps(1.0, 1.0), steps(0.0, 0.0))) == ["VARIABLE_NOT_TRAINED"]
    assert recognized(steps(1.0, 0.0), steps(1.0, 0.0)) == {}


def applied(fault, step=0):
    local = local_state(step, weights={"a": 8.0, "b": 4.0}, slots={"a/m": 1.0})
    apply_rules(fault, local, {"a": 2.0, "b": 2.0}, 0.5)
    return values_of(local.weights), values_of(local.slots)


def test_faults_change_the_update():
    assert applied("first_weight_not_trained") == ({"a": 8.0, "b": 3.0}, {"a/m": 2.0})
    decayed = {"a": pytest.approx(7.0 - 0.5 * 0.05 * 8.0), "b": pytest.approx(3.0 - 0.5 * 0.05 * 4.0)}
    assert applied("decoupled_decay") == (decayed, {"a/m": 2.0})


@pytest.mark.parametrize("step, updated", [(0, True), (1, False), (2, True)])
def test_a_fault_skips_every_second_update(step, updated):
    weights, slots = applied("every_second_update_skipped", step)
    assert (weights, slots) == (
        ({"a": 7.0, "b": 3.0}, {"a/m": 2.0}) if updated else ({"a": 8.0, "b": 4.0}, {"a/m": 1.0})
    )


@pytest.mark.parametrize("predicted, named", [(1.0, True), (0.96, True), (0.94, False), (0.5, False), (NAN, False)])
def test_a_decoupled_decay_leaves_the_rules_own_change_whole(predicted, named):
    """Weights that are halved after the update are half the rule's change and less half of the weight."""
    right = updates(update(0, 0.5, factor=(1.0, 0.5), decay=(-0.025, 0.5, 1e-6, predicted)))
    assert ("WEIGHT_DECAY_DECOUPLED" in recognized(updates(), right)) == named
