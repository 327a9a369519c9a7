import math

import pytest

from parity.causes.update import momentum_slots, slot_updates
from tests.cases import Dyadic
from tests.parity.causes.stub_step import change_of
from tests.parity.causes.update_facts import momentum_side as side
from tests.parity.causes.update_facts import recognized_causes, slot_fit, update, updates
from workloads import optimizers
from workloads.job import Job

CAUSES = momentum_slots.CAUSES + slot_updates.CAUSES
MOMENTUM, ADAM = optimizers.Momentum(0.5), optimizers.Adam(0.5, 0.75)
CONSTANT, HALVED = [0.5, 0.5, 0.5], [0.5, 0.5, 0.25]


def recognized(left, right, optimizer=MOMENTUM):
    return recognized_causes(CAUSES, left, right, optimizer)


@pytest.mark.parametrize("rates", [CONSTANT, HALVED])
def test_equal_slots_are_no_cause(rates):
    assert recognized(side(rates), side(rates)) == {}


def test_updates_that_cannot_be_explained_are_no_cause():
    assert recognized(None, side(HALVED)) == {}
    assert recognized(side(HALVED), None, None) == {}


def test_another_momentum_is_named():
    found = recognized(side(CONSTANT), side(CONSTANT, keeps=(0.75, 0.75, 0.75)))
    assert list(found) == ["OPTIMIZER_CONSTANT"]
    assert found["OPTIMIZER_CONSTANT"].sentence == (
        "Slot momentum keeps 0.75 of itself in each of the port's steps and 0.5 in each of legacy's: another momentum."
    )


def test_a_momentum_of_nothing_is_named():
    keeps = (3e-9, -2e-9, 1e-9)  # rounding of zero
    without = side(CONSTANT, keeps=keeps)
    fits = [
        fit._replace(keep=keep, old_size=abs(keep), old_length=1.0)
        for fit, keep in zip(without.slots["momentum"], keeps)
    ]
    without.slots["momentum"][:] = fits
    assert recognized(side(CONSTANT), without)["OPTIMIZER_CONSTANT"].sentence == (
        "Slot momentum keeps 0 of itself in each of the port's steps and 0.5 in each of legacy's: another momentum."
    )
    without.slots["momentum"][:] = [fit._replace(old_length=1e-3) for fit in fits]  # of an empty slot, nothing is kept
    assert recognized(side(CONSTANT), without) == {}


@pytest.mark.parametrize("keep, causes", [(0.5009, []), (0.5011, ["OPTIMIZER_CONSTANT"])])
def test_constants_are_equal_within_two_in_a_thousand(keep, causes):
    assert list(recognized(side(CONSTANT), side(CONSTANT, keeps=[keep] * 3))) == causes


@pytest.mark.parametrize(
    "keeps, named",
    [
        ((0.75, 0.5, 0.875), True),
        ((0.5, 0.5, 0.75), False),  # one step may be anything
        ((0.75, 0.875), False),
        ((0.75, 0.0, 0.875), False),  # starts anew
        ((0.75, 0.7501, 0.7502), True),  # one constant
    ],
)
def test_a_momentum_that_changes_with_the_steps_is_named(keeps, named):
    found = recognized(side(CONSTANT[: len(keeps)]), side(CONSTANT[: len(keeps)], keeps=keeps))
    assert ("OPTIMIZER_CONSTANT" in found) is named
    if keeps == (0.75, 0.5, 0.875):
        assert found["OPTIMIZER_CONSTANT"].sentence == (
            "Slot momentum keeps from 0.5 to 0.875 of itself in the port's steps, and 0.5 in each of legacy's: the "
            "port's momentum changes with the steps."
        )


def test_a_slot_of_keras_s_convention_is_no_other_constant():
    found = recognized(side(CONSTANT), side(CONSTANT, keeps=(0.75,) * 3, gains=(-0.5,) * 3))
    assert list(found) == ["SLOT_CONVENTION"]


def adam_side(m=0.5, v=0.75, **known):
    return updates(m=[slot_fit(keep=m, gain=1 - m, **known)], v=[slot_fit(keep=v, gain=1 - v, **known)])


def test_another_beta_is_named():
    assert recognized(adam_side(), adam_side(), ADAM) == {}
    assert recognized(adam_side(), adam_side(m=0.25), ADAM)["OPTIMIZER_CONSTANT"].sentence.endswith("another beta1.")
    assert recognized(adam_side(), adam_side(v=0.5), ADAM)["OPTIMIZER_CONSTANT"].sentence.endswith("another beta2.")


def test_all_constants_that_differ_are_named_together():
    found = recognized(adam_side(), adam_side(m=0.25, v=0.5), ADAM)["OPTIMIZER_CONSTANT"]
    assert found.constants == {"beta1": 0.25, "beta2": 0.5}
    assert "another beta1" in found.sentence and "another beta2" in found.sentence


def test_a_slot_that_takes_up_nothing_has_no_other_constant():
    assert "OPTIMIZER_CONSTANT" not in recognized(adam_side(), adam_side(m=1.0), ADAM)


@pytest.mark.parametrize(
    "gain, causes", [(0.5, ["OPTIMIZER_CONSTANT"]), (0.500049, ["OPTIMIZER_CONSTANT"]), (0.25, []), (0.501, [])]
)
def test_an_average_that_is_scaled_has_no_other_constant(gain, causes):
    scaled = updates(m=[slot_fit(keep=0.5, gain=0.5)], v=[slot_fit(keep=0.5, gain=gain)])
    assert list(recognized(adam_side(), scaled, ADAM)) == causes


def test_an_empty_averaging_slot_shows_its_constant_by_its_gain():
    empty = {"old_size": 0.0}
    found = recognized(adam_side(**empty), adam_side(m=0.25, **empty), ADAM)
    assert found["OPTIMIZER_CONSTANT"].sentence.startswith("Slot m keeps 0.25 of itself")


@pytest.mark.parametrize(
    "fits, averaging, kept",
    [
        ([slot_fit(keep=0.5), slot_fit(keep=0.5)], False, 0.5),
        ([slot_fit(keep=0.5), slot_fit(keep=0.75)], False, None),
        ([slot_fit(keep=0.5), slot_fit(keep=0.75, residual=1.1e-3)], False, 0.5),
        ([slot_fit(keep=0.5), slot_fit(keep=0.75, residual=0.9e-3)], False, None),
        ([slot_fit(keep=0.5, old_size=0.9e-2)], False, None),
        ([slot_fit(keep=0.5, old_size=1.1e-2)], False, 0.5),
        ([slot_fit(keep=0.5, gain_size=0.9e-6)], False, None),
        ([slot_fit(keep=0.5, gain_size=1.1e-6)], False, 0.5),
        ([slot_fit(keep=7.0, gain=0.25, old_size=0.0)], True, 0.75),
        ([slot_fit(keep=7.0, gain=0.25, old_size=0.0)], False, None),
        ([slot_fit(keep=0.5), slot_fit(keep=7.0, gain=0.25, old_size=0.0)], True, 0.5),
        ([slot_fit(keep=1.0), slot_fit(keep=0.991)], False, 0.9955),
        ([slot_fit(keep=1.0), slot_fit(keep=0.989)], False, None),
        ([], True, None),
    ],
)
def test_the_kept_part_of_a_slot(fits, averaging, kept):
    value = slot_updates.kept_part(fits, averaging)
    assert math.isnan(value) if kept is None else value == pytest.approx(kept)


@pytest.mark.parametrize(
    "fault, optimizer, changed",
    [
        ("other_beta1", optimizers.Adam(), optimizers.Adam(beta1=0.8)),
        ("other_beta2", optimizers.Adam(), optimizers.Adam(beta2=0.99)),
        ("other_momentum", optimizers.Momentum(), optimizers.Momentum(0.8)),
        ("other_decay", optimizers.RMSProp(), optimizers.RMSProp(decay=0.8)),
    ],
)
def test_faults_change_a_constant(fault, optimizer, changed):
    job = Job(Dyadic(optimizer=optimizer), 2, 8)
    assert change_of(fault).fields[0](job) == {"optimizer": changed}


@pytest.mark.parametrize("port, causes", [(0.9995, ["OPTIMIZER_CONSTANT"]), (0.999001, [])])
def test_another_second_beta_is_seen_in_the_share_that_the_slot_takes_up(port, causes):
    first = [slot_fit(0, 0.9, 0.1)] * 3
    sides = [
        updates(update(), m=first, v=[slot_fit(step, keep, 1 - keep) for step in range(3)]) for keep in (0.999, port)
    ]
    found = recognized(*sides, optimizers.Adam())
    assert list(found) == causes
    assert not found or found["OPTIMIZER_CONSTANT"].constants == {"beta2": 0.9995}
