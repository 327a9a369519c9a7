import math

import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.update import slot_updates
from tests.cases import Dyadic
from tests.parity.causes.stub_step import change_of
from tests.parity.causes.update_facts import evidence_of_updates, slot_fit, update, updates
from tests.parity.step_records import made_up_state, step_record
from workloads import optimizers
from workloads.job import Job

CRITERIA = {cause.id: cause.criterion for cause in slot_updates.CAUSES}
MOMENTUM, ADAM = optimizers.Momentum(0.5), optimizers.Adam(0.5, 0.75)

CONSTANT, HALVED = [0.5, 0.5, 0.5], [0.5, 0.5, 0.25]


def side(rates, keeps=(0.5, 0.5, 0.5), gains=(1.0, 1.0, 1.0), **known):
    """One side's momentum in three steps; legacy's slot keeps half of itself and adds the gradient."""
    steps = [update(step, rate) for step, rate in enumerate(rates)]
    fits = [slot_fit(step, keep, gain, **known) for step, (keep, gain) in enumerate(zip(keeps, gains))]
    return updates(*steps, momentum=fits)


def recognized(left, right, optimizer=MOMENTUM):
    evidence = evidence_of_updates(left, right, optimizer)
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


@pytest.mark.parametrize("rates", [CONSTANT, HALVED])
def test_equal_slots_are_no_cause(rates):
    assert recognized(side(rates), side(rates)) == {}


def test_updates_that_cannot_be_explained_are_no_cause():
    assert recognized(None, side(HALVED)) == {}
    assert recognized(side(HALVED), None, None) == {}


def test_a_slot_that_adds_the_learning_rate_is_named_when_the_rate_changes():
    found = recognized(side(HALVED), side(HALVED, gains=(-0.5, -0.5, -0.25)))
    assert list(found) == ["MOMENTUM_FORM"]
    assert found["MOMENTUM_FORM"].confidence == HIGH
    assert found["MOMENTUM_FORM"].sentence == (
        "The port's momentum slot holds the learning rate (v = 0.5 v - rate g): when the rate changes, the new one "
        "applies to new gradients only, and in legacy to the whole slot."
    )
    assert found["MOMENTUM_FORM"].because == (
        "the learning rate changes 1 times; the slot takes up -rate times the gradient"
    )


def test_a_slot_in_legacy_s_terms_keeps_more_of_itself_when_the_rate_falls():
    found = recognized(side(HALVED), side(HALVED, keeps=(0.5, 0.5, 1.0)))
    assert list(found) == ["MOMENTUM_FORM"]
    assert found["MOMENTUM_FORM"].because.endswith("there the slot keeps 1 of itself in legacy's terms")


@pytest.mark.parametrize("rates", [[0.5, 0.0, 0.5], [0.5, 0.5, 0.0], [0.0, 0.0, 0.5]])
def test_a_learning_rate_of_zero_shows_no_form(rates):
    assert recognized(side(CONSTANT), side(rates)) == {}


@pytest.mark.parametrize("keep, causes", [(1.0019, ["MOMENTUM_FORM"]), (1.0021, [])])
def test_the_kept_part_is_the_ratio_of_the_rates_within_two_in_a_thousand(keep, causes):
    assert list(recognized(side(HALVED), side(HALVED, keeps=(0.5, 0.5, keep)))) == causes


def test_every_change_of_the_rate_must_show_in_the_slot():
    rates = [0.5, 0.25, 0.125]
    assert list(recognized(side(rates), side(rates, keeps=(0.5, 1.0, 1.0)))) == ["MOMENTUM_FORM"]
    assert recognized(side(rates), side(rates, keeps=(0.5, 0.5, 1.0))) == {}


@pytest.mark.parametrize("old_size, causes", [(1.1e-3, ["MOMENTUM_FORM"]), (0.9e-3, [])])
def test_an_empty_slot_shows_no_kept_part(old_size, causes):
    assert list(recognized(side(HALVED), side(HALVED, keeps=(0.5, 0.5, 1.0), old_size=old_size))) == causes


def test_a_change_of_the_rate_must_exceed_rounding():
    rates = [0.5, 0.5, 0.5 * (1 + 0.9e-6)]
    assert recognized(side(rates), side(rates, gains=[-rate for rate in rates])) == {}
    rates = [0.5, 0.5, 0.5 * (1 + 1.1e-6)]
    assert list(recognized(side(rates), side(rates, gains=[-rate for rate in rates]))) == ["MOMENTUM_FORM"]


def test_keras_s_convention_is_no_bug_while_the_rate_is_constant():
    found = recognized(side(CONSTANT), side(CONSTANT, gains=(-0.5, -0.5, -0.5)))
    assert list(found) == ["SLOT_CONVENTION"]
    assert found["SLOT_CONVENTION"].sentence == (
        "The port's momentum slot is -rate times legacy's (v = -0.5 a), which is Keras's convention: the weights are "
        "the same while the learning rate is constant."
    )
    assert found["SLOT_CONVENTION"].because == "the slot takes up -0.5 times the gradient in every step"
    assert not {cause.id: cause.bug for cause in slot_updates.CAUSES}["SLOT_CONVENTION"]


def test_two_slots_of_keras_s_convention_do_not_differ():
    keras = side(CONSTANT, gains=(-0.5, -0.5, -0.5))
    assert recognized(keras, keras) == {}


@pytest.mark.parametrize(
    "gain, known, named",
    [
        (-0.5 * 1.0009, {}, True),
        (-0.5 * 1.0011, {}, False),
        (-0.5, {"residual": 0.9e-3}, True),
        (-0.5, {"residual": 1.1e-3}, False),
        (-0.5, {"gain_size": 1.1e-3}, True),
        (-0.5, {"gain_size": 0.9e-3}, False),
    ],
)
def test_keras_s_convention_is_read_from_clear_steps(gain, known, named):
    found = recognized(side(CONSTANT), side(CONSTANT, gains=[gain] * 3, **known))
    assert list(found) == (["SLOT_CONVENTION"] if named else [])


def test_another_momentum_is_named():
    found = recognized(side(CONSTANT), side(CONSTANT, keeps=(0.75, 0.75, 0.75)))
    assert list(found) == ["OPTIMIZER_CONSTANT"]
    assert found["OPTIMIZER_CONSTANT"].sentence == (
        "Slot momentum keeps 0.75 of itself in each of the port's steps and 0.5 in each of legacy's: another momentum."
    )


@pytest.mark.parametrize("keep, causes", [(0.5009, []), (0.5011, ["OPTIMIZER_CONSTANT"])])
def test_constants_are_equal_within_two_in_a_thousand(keep, causes):
    assert list(recognized(side(CONSTANT), side(CONSTANT, keeps=[keep] * 3))) == causes


def test_a_slot_of_keras_s_convention_is_no_other_constant():
    found = recognized(side(CONSTANT), side(CONSTANT, keeps=(0.75,) * 3, gains=(-0.5,) * 3))
    assert list(found) == ["SLOT_CONVENTION"]


def adam_side(m=0.5, v=0.75, **known):
    return updates(m=[slot_fit(keep=m, gain=1 - m, **known)], v=[slot_fit(keep=v, gain=1 - v, **known)])


def test_another_beta_is_named():
    assert recognized(adam_side(), adam_side(), ADAM) == {}
    assert recognized(adam_side(), adam_side(m=0.25), ADAM)["OPTIMIZER_CONSTANT"].sentence.endswith("another beta1.")
    assert recognized(adam_side(), adam_side(v=0.5), ADAM)["OPTIMIZER_CONSTANT"].sentence.endswith("another beta2.")


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


def test_a_fault_uses_keras_s_rules():
    assert change_of("keras_momentum").options == (("update_rules", "keras"),)


def test_a_fault_shows_momentum_slots_as_keras_has_them():
    state = made_up_state(slots={"w/momentum": [2.0, 4.0], "w/other": [2.0]})
    record = step_record(learning_rate=0.5, state=state)
    (change,) = change_of("momentum_slots_as_keras_has_them").records
    change(record)
    assert {name: value.tolist() for name, value in record.state.slots.items()} == {
        "w/momentum": [-1.0, -2.0],
        "w/other": [2.0],
    }
    with pytest.raises(ValueError, match="step 3: the record shows no learning rate"):
        change(step_record(step=3, learning_rate=None))


@pytest.mark.parametrize("port, causes", [(0.9995, ["OPTIMIZER_CONSTANT"]), (0.999001, [])])
def test_another_second_beta_is_seen_in_the_share_that_the_slot_takes_up(port, causes):
    first = [slot_fit(0, 0.9, 0.1)] * 3
    sides = [
        updates(update(), m=first, v=[slot_fit(step, keep, 1 - keep) for step in range(3)]) for keep in (0.999, port)
    ]
    found = recognized(*sides, optimizers.Adam())
    assert list(found) == causes
    assert not found or found["OPTIMIZER_CONSTANT"].constants == {"beta2": 0.9995}
