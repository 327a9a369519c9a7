"""Agreement of made-up records, from both sides of each limit."""

import pytest

from parity.comparison import stages
from parity.confirmation.agreement import (
    MOST_ROUNDINGS,
    Agreement,
    Lengths,
    TensorDifference,
    add_initial,
    add_step,
    improves,
    may_be_noise,
)
from parity.confirmation.injected_port import UserStep
from parity.confirmation.rounding_units import Rules
from tests.parity.step_records import made_up_state, step_record
from workloads import optimizers

EPS = 2.0**-23
RULES = Rules(optimizers.Adam())


def record(**changed):
    weights, slots = changed.pop("weights", {"w": [1.0, 2.0]}), changed.pop("slots", {"w/m": [0.5, 0.5]})
    averages = changed.pop("averages", {"w": [1.0, 2.0]})
    fields = {
        "losses": [1.0],
        "gradients": [{"w": [1.0, -1.0]}],
        "combined": {"w": [1.0, -1.0]},
        "state": made_up_state(weights, slots, {"mean": [1.0]}, averages, step=1),
        **changed,
    }
    return step_record(**fields)


BEFORE = made_up_state({"w": [1.0, 2.0]}, {"w/m": [0.5, 0.5]}, {"mean": [1.0]}, {"w": [1.0, 2.0]})


def agreement(injected, user=None, twin=None, rules=RULES):
    made = Agreement()
    add_step(made, injected, UserStep(BEFORE, record() if user is None else user), rules, twin)
    return made


def test_equal_records_agree_in_every_stage():
    made = agreement(record())
    assert not made.remaining and made.roundings == 0.0
    assert {stages.LOSS, stages.COMBINED, stages.WEIGHTS, stages.SLOTS, stages.AVERAGES} <= made.stages


@pytest.mark.parametrize(
    "stage, at",
    [
        (stages.LOSS, lambda gap: {"losses": [1.0 + gap]}),
        (stages.GRADIENTS, lambda gap: {"gradients": [{"w": [1.0, -1.0 - gap]}]}),
        (stages.COMBINED, lambda gap: {"combined": {"w": [1.0, -1.0 - gap]}}),
        (stages.WEIGHTS, lambda gap: {"weights": {"w": [1.0 + gap, 2.0]}}),
        (stages.SLOTS, lambda gap: {"slots": {"w/m": [0.5 + gap, 0.5]}}),
        (stages.AVERAGES, lambda gap: {"averages": {"w": [1.0 + 2 * gap, 2.0]}}),
    ],
)
def test_each_stage_allows_so_many_roundings_of_its_own_and_no_more(stage, at):
    limit = MOST_ROUNDINGS[stage] * EPS
    assert not agreement(record(**at(limit - 2 * EPS if limit > 2 * EPS else limit / 2))).remaining
    beyond = agreement(record(**at(limit + 2 * EPS)))
    ((found, _),) = beyond.remaining
    assert found == stage and beyond.gaps[stage] > 0


def test_a_number_on_one_side_only_is_never_within_rounding():
    for value in (float("nan"), float("inf")):
        remaining = agreement(record(weights={"w": [value, 2.0]})).remaining
        assert remaining[stages.WEIGHTS, "w"].roundings == float("inf")
    both = record(losses=[float("nan")])
    assert not agreement(both, both).remaining


def test_noise_that_float64_measures_excuses_gradients_and_no_update():
    injected = record(gradients=[{"w": [1.001, -1.0]}], weights={"w": [1.001, 2.0]})
    assert len(agreement(injected).remaining) == 2
    excused = agreement(injected, twin=record()).remaining
    assert [stage for stage, _ in excused] == [stages.WEIGHTS]


def test_where_no_gradients_are_recorded_their_noise_reaches_the_update():
    injected = record(weights={"w": [1.001, 2.0]})
    user = record(gradients=[], combined={})
    assert agreement(injected, user).remaining
    assert not agreement(injected, user, twin=record()).remaining


def test_a_slot_may_differ_by_what_one_minus_its_decay_has_lost_in_float32():
    user = record(slots={"w/v": [0.501, 0.5]})
    before = made_up_state({"w": [1.0, 2.0]}, {"w/v": [0.5, 0.5]}, {"mean": [1.0]}, {"w": [1.0, 2.0]})
    # beta2 = 0.999: the slot moves by 0.001, a thousandth of the term that it takes up.
    for gap, agrees in ((4 * EPS, True), (40 * EPS, False)):
        made = Agreement()
        add_step(made, record(slots={"w/v": [0.501 + gap, 0.5]}), UserStep(before, user), RULES)
        assert (not made.remaining) == agrees


def test_copies_that_disagree_on_one_side_only_remain():
    drifting = record(drift=["mean"])
    assert list(agreement(record(), drifting).remaining) == [(stages.STATISTICS, "copies of mean")]
    assert not agreement(drifting, drifting).remaining


def test_first_values_are_compared_unless_they_are_given():
    for given, count in ((set(), 1), ({"w"}, 0)):
        made = Agreement()
        left, right = made_up_state({"w": [1.0, 2.0]}), made_up_state({"w": [1.5, 2.0]})
        add_initial(made, left, right, given)
        assert len(made.remaining) == count


def test_the_first_step_and_the_largest_difference_are_kept():
    made = Agreement()
    for step, roundings in ((3, 100.0), (4, 300.0), (5, 200.0)):
        made.add(stages.LOSS, "replica 0", step, TensorDifference(roundings, Lengths(9.0, 36.0)))
    made.add(stages.RATE, "learning rate", 3, TensorDifference(1e9, Lengths(1.0, 100.0)))
    made.add(stages.WEIGHTS, "w", 3, TensorDifference(0.0, Lengths(1e-9, 1.0)))
    first, second = made.in_order()
    assert (first.stage, first.step, first.roundings) == (stages.LOSS, 3, 300.0)
    assert second.stage == stages.RATE
    assert made.gaps == {stages.LOSS: 0.5, stages.RATE: 0.1}


def test_only_a_small_part_of_a_stage_may_be_noise():
    for gap, noise in ((0.01, True), (0.011, False)):
        made = Agreement()
        made.add(stages.GRADIENTS, "w", 0, TensorDifference(1e6, Lengths(gap**2, 1.0)))
        assert may_be_noise(made) == noise
    assert not may_be_noise(Agreement())


def test_a_cause_improves_if_a_stage_shrinks_and_none_grows():
    assert improves({}, {"slots": 0.1})
    assert improves({"slots": 0.001, "weights": 0.2}, {"slots": 0.1, "weights": 0.2})
    assert not improves({"slots": 0.09}, {"slots": 0.1})
    assert not improves({"loss": 0.1}, {"slots": 0.1})


def test_no_infinity_and_no_nan_passes_for_an_improvement():
    for value in (float("inf"), float("nan")):
        assert not improves({"slots": value}, {"slots": 0.1})
        assert not improves({"slots": value}, {"slots": value})
        assert improves({}, {"slots": float("inf")})
