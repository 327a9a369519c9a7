import pytest

from parity.causes.basics.cause import LOW
from parity.causes.update import epsilon, update_form
from tests.cases import Dyadic
from tests.parity.causes.stub_step import FAULTS, apply_rules, change_of, local_state, values_of
from tests.parity.causes.update_facts import recognized_causes, side, slot_fit, update, updates
from workloads import optimizers
from workloads.job import Job
from workloads.optimizers import OWN

CAUSES = epsilon.CAUSES + update_form.CAUSES
ADAM, RMSPROP = optimizers.Adam(epsilon=1e-8), optimizers.RMSProp()


def recognized(left, right, optimizer=ADAM, equal_rates=True):
    return recognized_causes(CAUSES, left, right, optimizer, equal_rates)


def test_updates_that_the_rule_explains_are_no_cause():
    healthy = side(large=5000.0, nesterov=5000.0)
    assert recognized(healthy, healthy) == {}
    assert recognized(None, healthy) == {}
    assert recognized(None, None, optimizer=None) == {}


def test_another_form_is_named():
    found = recognized(side(nesterov=5000.0), side(own=5000.0, nesterov=1.0), optimizers.Momentum())
    assert list(found) == ["UPDATE_FORM"]
    assert found["UPDATE_FORM"].sentence == "The port's update is nesterov and legacy's is not."
    assert found["UPDATE_FORM"].because == "explained to 1.0 roundings by that form, to 5000 by legacy's"


@pytest.mark.parametrize(
    "own, nesterov, left, named",
    [
        (5000.0, 19.0, 21.0, True),
        (5000.0, 21.0, 5000.0, False),
        (5000.0, 1.0, 19.0, False),
        (5.1, 1.0, 5000.0, True),
        (4.9, 1.0, 5000.0, False),
    ],
)
def test_another_form_explains_the_port_and_not_legacy(own, nesterov, left, named):
    found = recognized(side(nesterov=left), side(own=own, nesterov=nesterov), optimizers.Momentum())
    assert ("UPDATE_FORM" in found) == named


def test_a_factor_of_the_update_is_named():
    found = recognized(side(), side(own=5000.0, factor=(2.0, 1e-6)))
    assert list(found) == ["UPDATE_SCALED"]
    assert found["UPDATE_SCALED"].sentence == (
        "The port's weights change by 2 x the update from its own gradient, slots and learning rate."
    )
    assert found["UPDATE_SCALED"].because == "the same factor in 1 step, residual 1.0e-06"


@pytest.mark.parametrize(
    "factor, named",
    [((1.0011, 0.0), True), ((1.0009, 0.0), False), ((2.0, 0.9e-2), True), ((2.0, 1.1e-2), False)],
)
def test_a_factor_exceeds_one_in_a_thousand_and_explains_the_change(factor, named):
    assert ("UPDATE_SCALED" in recognized(side(), side(factor=factor))) == named


@pytest.mark.parametrize("second, named", [(0.9991, True), (0.9989, False)])
def test_a_factor_is_the_same_in_all_steps(second, named):
    left = updates(update(0), update(1))
    right = updates(update(0, factor=(2.0, 0.0)), update(1, factor=(2.0 * second, 0.0)))
    assert ("UPDATE_SCALED" in recognized(left, right, optimizers.GradientDescent())) == named


def test_a_factor_with_a_cause_of_its_own_is_no_scaled_update():
    doubled = side(own=5000.0, factor=(2.0, 1e-6))
    assert list(recognized(side(), doubled, equal_rates=False)) == ["UPDATE_UNKNOWN"]
    assert "UPDATE_SCALED" not in recognized(side(), side(own=5000.0, factor=(2.0, 1e-6), large=1.0))
    assert "UPDATE_SCALED" not in recognized(side(keras=9.0), side(own=5000.0, factor=(2.0, 1e-6), keras=1.0))
    assert recognized(side(factor=(0.0, 0.0)), doubled).get("UPDATE_SCALED") is None


def test_an_update_that_nothing_explains_is_named():
    found = recognized(side(), side(own=5000.0, factor=(3.0, 0.5)))
    assert list(found) == ["UPDATE_UNKNOWN"]
    assert found["UPDATE_UNKNOWN"].confidence == LOW
    assert found["UPDATE_UNKNOWN"].sentence == (
        "The port's weights do not change by Adam of its own gradient, slots and learning rate (best: 3 x the expected "
        "change, residual 5.0e-01)."
    )


@pytest.mark.parametrize(
    "left, right, named", [(1.0, 1001.0, True), (1.0, 999.0, False), (19.0, 5000.0, True), (21.0, 5000.0, False)]
)
def test_an_unknown_update_is_far_off_and_legacy_s_is_not(left, right, named):
    found = recognized(side(own=left), side(own=right, factor=(3.0, 0.5)))
    assert ("UPDATE_UNKNOWN" in found) == named


def test_another_cause_of_the_update_explains_it():
    still = updates(update(forms={OWN: 5000.0}, factor=(3.0, 0.5), still=["w"]), m=[slot_fit()], v=[slot_fit()])
    assert recognized(side(), still) == {}
    rows = updates(
        update(forms={OWN: 5000.0}, factor=(3.0, 0.5), rows={"t": (0.5, 0.0)}), m=[slot_fit()], v=[slot_fit()]
    )
    assert recognized(side(), rows) == {}


@pytest.mark.parametrize(
    "fault, optimizer, changed",
    [
        ("keras_epsilon", ADAM, optimizers.Adam(epsilon=1e-7)),
        ("large_epsilon", ADAM, optimizers.Adam(epsilon=1e-3)),
        ("rmsprop_large_epsilon", RMSPROP, optimizers.RMSProp(epsilon=1e-3)),
        ("nesterov", optimizers.Momentum(), optimizers.Momentum(nesterov=True)),
    ],
)
def test_faults_change_the_optimizer(fault, optimizer, changed):
    assert change_of(fault).fields[0](Job(Dyadic(optimizer=optimizer), 2, 8)) == {"optimizer": changed}
    assert FAULTS[fault].adapt(Dyadic()).optimizer == optimizer


def test_a_fault_doubles_the_update():
    local = local_state(weights={"a": 8.0, "b": 4.0})
    apply_rules("update_applied_twice", local, {"a": 2.0}, 0.5)
    assert values_of(local.weights) == {"a": 6.0, "b": 4.0}


INFINITE, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("misfit", [INFINITE, NAN])
def test_a_misfit_that_is_not_finite_explains_nothing(misfit):
    found = recognized(side(large=5000.0), side(own=INFINITE, large=misfit))
    assert {name: finding.confidence for name, finding in found.items()} == {"UPDATE_UNKNOWN": LOW}


def test_a_factor_of_nothing_is_no_scaled_update():
    """At a learning rate of zero no change is expected, and the factor of none is not a number."""
    assert recognized(side(factor=(NAN, NAN)), side(factor=(NAN, NAN))) == {}
    assert recognized(side(), side(factor=(2.0, NAN))) == {}
