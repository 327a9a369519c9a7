import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.update import momentum_slots, slot_updates
from tests.parity.causes.stub_step import change_of
from tests.parity.causes.update_facts import momentum_side as side
from tests.parity.causes.update_facts import recognized_causes
from tests.parity.step_records import made_up_state, step_record
from workloads import optimizers

CAUSES = momentum_slots.CAUSES + slot_updates.CAUSES
CONSTANT, HALVED = [0.5, 0.5, 0.5], [0.5, 0.5, 0.25]


def recognized(left, right):
    return recognized_causes(CAUSES, left, right, optimizers.Momentum(0.5))


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


@pytest.mark.parametrize("fall, causes", [(1.0039, []), (1.0041, ["MOMENTUM_FORM"])])
def test_a_change_of_the_rate_must_exceed_what_any_slot_keeps(fall, causes):
    rates = [0.5, 0.5, 0.5 / fall]
    kept = 0.5 * (1 + (fall - 1) * 0.6)  # as near to what is kept with the rate inside as to what is kept without it
    assert list(recognized(side(rates), side(rates, keeps=(0.5, 0.5, kept)))) == causes


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
    assert not {cause.id: cause.bug for cause in momentum_slots.CAUSES}["SLOT_CONVENTION"]


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
