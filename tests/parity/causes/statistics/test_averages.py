import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.statistics import averages
from parity.comparison.fits import FactorFit
from parity.diagnosis.facts.moving_averages import AverageMove
from tests.parity.causes.stub_step import FAULTS, change_of, faulty_step
from tests.parity.step_records import made_up_evidence
from workloads.workload import MovingAverage

CRITERIA = {cause.id: cause.criterion for cause in averages.CAUSES}

#: Steps in which a decay that warms up takes in 1 - (2 + step) / (11 + step) = 9 / (11 + step) of the weights.
WARM = {1: 0.75, 7: 0.5, 25: 0.25}


def move(step, share, new=1e-8, old=0.5, moved=True, noise=1e-6):
    """One step; `new` and `old` are residuals of the fits by the weights after and before the update."""
    return AverageMove(step, FactorFit(share, new), FactorFit(share, old), moved, noise)


def moves(shares, **known):
    return [move(step, share, **known) for step, share in shares.items()]


def recognized(left, right):
    evidence = made_up_evidence(averages=(left, right))
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def constant(share):
    return {step: share for step in WARM}


@pytest.mark.parametrize("shares", [WARM, constant(0.125)])
def test_equal_averages_are_no_cause(shares):
    assert recognized(moves(shares), moves(shares)) == {}


def test_no_averages_are_no_cause():
    assert recognized([], []) == {}


@pytest.mark.parametrize("residual, noise, causes", [(2e-3, 1e-3, ["EMA_DECAY"]), (4e-3, 1e-3, []), (2e-3, 1e-4, [])])
def test_one_share_explains_all_averages_to_rounding(residual, noise, causes):
    left = moves(constant(0.125))
    assert list(recognized(left, moves(constant(0.25), new=residual, noise=noise))) == causes


def test_a_decay_that_does_not_warm_up_is_named():
    found = recognized(moves(WARM), moves(constant(0.125)))
    assert list(found) == ["EMA_WARM_UP"]
    assert found["EMA_WARM_UP"].confidence == HIGH
    assert found["EMA_WARM_UP"].sentence == (
        "The decay of legacy's averages warms up as min(decay, (1 + n) / (10 + n)), while the port's take in 0.125 of "
        "the weights in every step."
    )


def test_a_decay_that_warms_up_in_the_port_only_is_named():
    found = recognized(moves(constant(0.125)), moves(WARM))
    assert list(found) == ["EMA_WARM_UP"]
    assert found["EMA_WARM_UP"].sentence.startswith("The decay of the port's averages warms up")


@pytest.mark.parametrize("change, cause", [(1.019, "EMA_WARM_UP"), (1.021, "EMA_DECAY")])
def test_a_decay_warms_up_within_two_in_a_hundred(change, cause):
    assert list(recognized(moves({**WARM, 7: 0.5 * change}), moves(constant(0.125)))) == [cause]


@pytest.mark.parametrize("change, cause", [(0.96, "EMA_WARM_UP"), (0.94, "EMA_DECAY")])
def test_a_share_is_constant_within_five_in_a_hundred(change, cause):
    assert list(recognized(moves(WARM), moves({**constant(0.125), 7: 0.125 * change}))) == [cause]


def test_averages_that_become_the_weights_in_one_step_are_no_other_decay():
    left = moves(constant(0.125))
    found = recognized(left, moves({**constant(0.125), 1: 1.0}))
    assert list(found) == ["EMA_COPIED"] and found["EMA_COPIED"].steps == (1,)
    assert "in 1 step (first at step 1), where legacy's take in 0.125" in found["EMA_COPIED"].sentence
    assert list(recognized(left, moves(constant(1.0)))) == ["EMA_DECAY"]  # in all steps
    assert "EMA_COPIED" not in recognized(left, moves({**constant(0.25), 1: 1.0}))  # another decay besides
    assert "EMA_COPIED" not in recognized(left, moves({**constant(0.125), 1: 0.999}))


def late(first):
    """Shares of a decay that warms up in four steps, 9 / (11 + step): from step 200 on they fall by 1.4 % in all."""
    return {step: 9 / (11 + step) for step in range(first, first + 4)}


def test_a_warm_up_that_has_all_but_ended_is_a_constant_decay():
    found = recognized(moves(late(200)), moves(dict.fromkeys(late(200), 0.0625)))
    assert list(found) == ["EMA_DECAY"]
    assert "the port's take in 0.0625 of the new weights and legacy's 0.04225" in found["EMA_DECAY"].sentence
    assert list(recognized(moves(late(2)), moves(dict.fromkeys(late(2), 0.5)))) == ["EMA_WARM_UP"]


def test_two_decays_that_are_below_the_first_of_a_warm_up_are_two_decays():
    """min(0.25, (1 + n) / (10 + n)) from n = 3 on, and 0.125 throughout, are constant: both sides may warm up."""
    first = {3: 0.75, 4: 0.75, 5: 0.75}
    assert list(recognized(moves(first), moves(dict.fromkeys(first, 0.875)))) == ["EMA_DECAY"]


def test_a_warm_up_that_ends_is_one():
    left = {1: 0.75, 7: 0.5, 25: 0.5, 43: 0.5}  # the decay is 0.5 at most
    found = recognized(moves(left), moves(dict.fromkeys(left, 0.5)))
    assert list(found) == ["EMA_WARM_UP"]
    assert found["EMA_WARM_UP"].constants == {"decay": 0.5, "warm_up": False}


def test_a_constant_decay_beside_a_warm_up_may_be_the_end_of_an_earlier_one():
    """With a decay of 0.5 the port's warm-up ends at step 7: only a step before shows that it has none."""
    left = {16: 1 / 3, 25: 0.25, 43: 1 / 6}
    assert list(recognized(moves(left), moves(dict.fromkeys(left, 0.5)))) == ["EMA_DECAY"]
    before = {1: 0.75, **left}
    assert list(recognized(moves(before), moves(dict.fromkeys(before, 0.5)))) == ["EMA_WARM_UP"]


def test_one_step_cannot_show_a_warm_up():
    assert list(recognized(moves({7: 0.5}), moves({7: 0.125}))) == ["EMA_DECAY"]


def test_another_decay_is_named():
    found = recognized(moves(constant(0.125)), moves(constant(0.25)))
    assert list(found) == ["EMA_DECAY"]
    assert found["EMA_DECAY"].sentence == (
        "The averages have another decay: in a step the port's take in 0.25 of the new weights and legacy's 0.125."
    )


@pytest.mark.parametrize("ratio, causes", [(1.019, []), (1.021, ["EMA_DECAY"])])
def test_decays_are_equal_within_two_in_a_hundred_where_rounding_is_large(ratio, causes):
    left, right = moves(constant(0.125), noise=0.1), moves(constant(0.125 * ratio), noise=0.1)
    assert list(recognized(left, right)) == causes


@pytest.mark.parametrize("ratio, causes", [(1.0009, []), (1.0011, ["EMA_DECAY"])])
def test_decays_are_equal_within_one_in_a_thousand_where_rounding_is_small(ratio, causes):
    assert list(recognized(moves(constant(0.125)), moves(constant(0.125 * ratio)))) == causes


@pytest.mark.parametrize(
    "known, causes",
    [
        ({"noise": 0.19}, ["EMA_DECAY"]),
        ({"noise": 0.21}, []),
        ({"new": 0.09, "noise": 0.1}, ["EMA_DECAY"]),
        ({"new": 0.11, "noise": 0.1}, []),
    ],
)
def test_a_share_that_does_not_stand_out_of_rounding_shows_nothing(known, causes):
    assert list(recognized(moves(constant(0.125)), moves(constant(0.25), **known))) == causes


@pytest.mark.parametrize(
    "known, causes",
    [
        ({"old": 1e-3, "new": 0.5}, ["EMA_STALE"]),
        ({"old": 1.9e-2, "new": 0.5}, ["EMA_STALE"]),
        ({"old": 2.1e-2, "new": 0.5}, []),
        ({"old": 1e-3, "new": 1.1e-2}, ["EMA_STALE"]),
        ({"old": 1e-3, "new": 0.9e-2}, []),
        ({"old": 1e-3, "new": 0.5, "noise": 1.9e-3}, ["EMA_STALE"]),
        ({"old": 1e-3, "new": 0.5, "noise": 2.1e-3}, []),
    ],
)
def test_averages_of_the_weights_before_the_update_are_named(known, causes):
    assert list(recognized(moves(constant(0.125)), moves(constant(0.125), **known))) == causes


def test_stale_averages_are_named_only_where_legacy_s_fit_the_new_weights():
    stale = moves(constant(0.125), old=1e-3, new=0.5)
    found = recognized(moves(constant(0.125)), stale)["EMA_STALE"]
    assert found.sentence == "The port averages the weights as they are before the update, legacy as they are after it."
    assert "(residual 1.0e-03) and not the new ones (5.0e-01)" in found.because
    assert recognized(stale, stale) == {}


def test_averages_that_stay_in_some_steps_are_named():
    right = [move(1, 0.125), move(7, 0.0, moved=False), move(25, 0.125)]
    found = recognized(moves(constant(0.125)), right)
    assert list(found) == ["EMA_SKIPPED"]
    assert found["EMA_SKIPPED"].sentence == ("The port does not update its averages in 1 of 3 steps (first at step 7).")
    assert recognized(right, right) == {}


def test_faults_change_the_average():
    job_fields = [
        change_of(f"{name}").fields[0](None) for name in ("averages_without_warm_up", "another_decay_of_the_averages")
    ]
    assert job_fields == [
        {"moving_average": MovingAverage(0.99, False)},
        {"moving_average": MovingAverage(0.8, False)},
    ]
    healthy = FAULTS["another_decay_of_the_averages"].adapt
    assert healthy(faulty_step("averages_every_other_step")._job.workload).moving_average == MovingAverage(0.9, False)


@pytest.mark.parametrize("share, causes", [(0.69, ["EMA_DECAY"]), (0.6995, [])])
def test_a_hundredth_of_the_decay_is_seen_where_rounding_is_small(share, causes):
    assert list(recognized(moves(constant(0.7)), moves(constant(share)))) == causes
