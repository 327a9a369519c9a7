import numpy as np
import pytest

from parity.diagnosis.stage_checks.update_check import change_fact, check_update, slot_fact
from tests.parity.diagnosis.stage_checks.sides import EPS, side
from workloads import optimizers

MOMENTUM = optimizers.Momentum(0.5)


def momentum_step(keep=0.5, gain=1.0, moved=1.0, gradient=(1.0, 2.0, 4.0), rate=0.25):
    """A step of `Momentum(0.5)`; the constants are the step's own."""
    old, gradient, weights = np.array([4.0, 8.0, -2.0]), np.array(gradient), np.array([1.0, -3.0, 5.0])
    new = keep * old + gain * gradient
    return side(
        {"weights": {"w": weights}, "slots": {"w/momentum": old}},
        {"weights": {"w": weights - moved * rate * new}, "slots": {"w/momentum": new}},
        combined={"w": gradient},
        learning_rate=rate,
    )


def off(taken, optimizer=MOMENTUM, eps=EPS):
    """{name: fact} of the tensors that are off."""
    return {error.name: error.fact for error in check_update(taken, optimizer, eps) if error.off}


def test_a_step_by_the_rule_is_right():
    assert [error.roundings for error in check_update(momentum_step(), MOMENTUM, EPS)] == [0.0, 0.0]


@pytest.mark.parametrize("roundings, found", [(1.0, False), (100.0, True)])
def test_a_few_roundings_are_no_fault(roundings, found):
    assert bool(off(momentum_step(keep=0.5 * (1 + roundings * EPS)))) == found


def test_another_constant_is_off_in_the_slot_alone():
    ((name, fact),) = off(momentum_step(keep=0.25)).items()
    assert name == "w/momentum"
    assert fact.startswith("keeps 0.25 of itself and takes up 1 x the gradient's term (by the rule 0.5 and 1)")


def test_dampening_is_off_in_the_slot_alone():
    (fact,) = off(momentum_step(gain=0.125)).values()
    assert fact.startswith("keeps 0.5 of itself and takes up 0.125 x")


def test_a_longer_step_is_off_in_the_weight_alone():
    assert off(momentum_step(moved=2.0)) == {"w": "changes by 2 x the rule's, residual 0.0e+00"}
    assert off(momentum_step(moved=0.0)) == {"w": "does not change"}


@pytest.mark.parametrize("kind, name", [("weights", "w"), ("slots", "w/momentum")])
def test_a_new_value_that_is_not_finite_is_off_where_it_begins(kind, name):
    taken = momentum_step()
    getattr(taken.record.state, kind)[name][1] = np.nan
    (error,) = [error for error in check_update(taken, MOMENTUM, EPS) if error.name == name]
    assert (error.roundings, error.fact) == (float("inf"), "values that are not finite")


def test_a_gradient_that_is_not_finite_makes_values_that_are_not():
    with np.errstate(invalid="ignore"):
        assert off(momentum_step(gradient=(np.nan, 2.0, 4.0))) == {}


def test_float32_constants_and_exact_ones_are_both_the_rule_in_float64():
    eps = 2.0**-52
    for keep in (0.9, float(np.float32(0.9))):
        assert off(momentum_step(keep=keep), optimizers.Momentum(0.9), eps) == {}
    assert off(momentum_step(keep=0.9001), optimizers.Momentum(0.9), eps)


@pytest.mark.parametrize("beta2, found", [(0.999, []), (0.9995, ["beta2_power", "w/v"])])
def test_adams_second_beta_is_seen_in_the_slot_and_in_its_power(beta2, found):
    gradient, old = np.array([1.0, 2.0, 4.0]), np.array([0.5, 1.0, 2.0])
    first = 0.9 * old + 0.1 * gradient
    second = beta2 * old + (1 - beta2) * gradient**2
    rate = 0.25 * np.sqrt(1 - 0.75) / (1 - 0.5)
    change = rate * first / (np.sqrt(second) + 1e-8)
    powers = {"beta1_power": np.float32(0.5), "beta2_power": np.float32(0.75)}
    after = {"beta1_power": np.float32(0.45), "beta2_power": np.float32(0.75 * beta2)}
    ones = np.ones(3)
    taken = side(
        {"weights": {"w": ones}, "slots": {"w/m": old, "w/v": old, **powers}},
        {"weights": {"w": ones - change}, "slots": {"w/m": first, "w/v": second, **after}},
        combined={"w": gradient},
        learning_rate=0.25,
    )
    assert sorted(off(taken, optimizers.Adam())) == found


def test_nothing_is_checked_without_a_gradient_or_a_slot():
    taken = momentum_step()
    taken.record.combined.clear()
    assert check_update(taken, MOMENTUM, EPS) == []
    assert check_update(momentum_step(), optimizers.Adam(), EPS) == []


def test_facts_of_few_elements_are_no_fits():
    one = np.ones(1)
    assert slot_fact(one, one, 4 * one, (0.5, 1.0)) == "is 4 where the rule gives 1.5"
    assert slot_fact(one, one, one, (0.5, 1.0)) == "does not change"


def test_a_multiple_of_the_weight_is_named_as_such():
    rule, weights = np.array([1.0, 0.0, 2.0, 0.0]), np.array([0.0, 4.0, 1.0, -2.0])
    assert change_fact(rule - 0.25 * weights, rule, weights).startswith(
        "changes by 1 x the rule's and -0.25 x the weight"
    )


@pytest.mark.parametrize("roundings, found", [(0.0, {}), (8.0, {}), (1024.0, {"w", "w/momentum"})])
def test_a_change_whose_addends_cancel_is_off_by_roundings_of_the_addends(roundings, found):
    rule = optimizers.RMSProp(decay=0.5, momentum=0.5, epsilon=2.0**-60)
    rest = 2.0 - 2.0 + roundings * EPS  # the momentum's part, the gradient's part, and what float32 makes of them
    taken = side(
        {"weights": {"w": np.array([0.0])}, "slots": {"w/rms": np.array([4.0]), "w/momentum": np.array([4.0])}},
        {"weights": {"w": np.array([-rest])}, "slots": {"w/rms": np.array([4.0]), "w/momentum": np.array([rest])}},
        combined={"w": np.array([-2.0])},
        learning_rate=2.0,
    )
    assert set(off(taken, rule)) == set(found)


def test_a_change_where_the_rule_gives_none_is_described_without_a_factor():
    rule, weights = np.zeros(3), np.ones(3)
    assert change_fact(np.array([1.0, 0.0, 2.0]), rule, weights) == "changes, and by the rule it does not"
    assert change_fact(rule, rule, weights) == "does not change"
