"""The workload's rules, applied to what each side recorded: what noise hides elsewhere is found."""

import dataclasses

import numpy as np
import pytest

from parity.comparison import stages
from parity.verdict.rule_check import RuleCheck
from tests.cases import Dyadic
from tests.parity.step_records import made_up_state, step_record
from workloads import optimizers
from workloads.job import Job
from workloads.workload import MovingAverage

BEFORE = made_up_state({"w": [1.0, 2.0]}, {"w/momentum": [0.5, 0.25]}, averages={"w": [4.0, 4.0]})


def job(**fields):
    return Job(Dyadic(optimizer=optimizers.Momentum(momentum=0.5), **fields), replicas=2)


def record(keep=0.5, average=None, gradient=(1.0, 0.5)):
    """A step of momentum by a learning rate of 0.5; `keep` is the part of the slot that is kept."""
    gradient = np.float32(gradient)
    slot = np.float32(keep) * BEFORE.slots["w/momentum"] + gradient
    weights = BEFORE.weights["w"] - np.float32(0.5) * slot
    averages = None if average is None else {"w": np.float32(4) + np.float32(average) * (weights - np.float32(4))}
    return step_record(
        gradients=[{"w": 2 * gradient}, {"w": 0 * gradient}],
        combined={"w": gradient},
        state=made_up_state({"w": weights}, {"w/momentum": slot}, averages=averages, step=1),
    )


def failures(left, right, checked=None):
    rules = RuleCheck(checked or job())
    rules.add(left, right, BEFORE)
    return rules.failures()


def test_each_sides_own_gradient_makes_its_own_update():
    assert failures(record(), record(gradient=(-3.0, 8.0))) == []  # noise may differ at will


def test_a_slot_that_keeps_another_part_is_found_beside_any_gradient():
    found = failures(record(), record(keep=0.375, gradient=(-3.0, 8.0)))
    assert found[0].stage == stages.SLOTS or found[0].stage == stages.WEIGHTS
    assert {failure.stage for failure in found} >= {stages.SLOTS}
    assert "w/momentum" in "".join(failure.fact for failure in found)


@pytest.mark.parametrize("units, sides", [((0.0, 0.0), ["legacy"]), ((1000.0, 0.0), []), ((0.0, 1000.0), ["legacy"])])
def test_a_recording_may_need_further_roundings_of_its_change_and_the_port_none(units, sides):
    """Keras raises Adam's constants to the step's number in float32, which 1 - beta2 ** step enlarges."""
    before = made_up_state({"w": [0.0, 0.0]}, {"w/momentum": [0.5, 0.25]})
    off = record()
    change = np.float32(-0.5) * off.state.slots["w/momentum"]
    left = dataclasses.replace(
        off, state=dataclasses.replace(off.state, weights={"w": change * np.float32(1 + 2.0**-15)})
    )
    right = dataclasses.replace(off, state=dataclasses.replace(off.state, weights={"w": change}))
    rules = RuleCheck(job(), units)
    rules.add(left, right, before)
    assert [failure.fact.split("'")[0].split()[-1] for failure in rules.failures()] == sides


def test_a_rule_that_neither_side_follows_says_nothing():
    assert failures(record(keep=0.375), record(keep=0.375)) == []


def test_a_recording_that_departs_from_the_rule_is_named_as_the_left():
    found = failures(record(keep=0.375), record())
    assert found and all("legacy's own" in failure.fact for failure in found)


@pytest.mark.parametrize("share, wrong", [(0.25, False), (0.5, True)])
def test_moving_averages_are_checked_from_their_own_weights(share, wrong):
    checked = job(moving_average=MovingAverage(0.75, warm_up=False))
    found = failures(record(average=0.25), record(average=share, gradient=(-3.0, 8.0)), checked)
    assert bool(found) is wrong and all(failure.stage == stages.AVERAGES for failure in found)


def test_what_is_not_the_mean_of_the_sides_own_gradients_is_found():
    right = record()
    right.gradients[0]["w"] = np.float32([8.0, 8.0])
    assert [failure.stage for failure in failures(record(), right)] == [stages.COMBINED]


def test_stale_gradients_have_no_rule_of_one_step():
    stale = Job(Dyadic(optimizer=optimizers.Momentum(momentum=0.5)), replicas=2, staleness=1)
    assert failures(record(), record(keep=0.375), stale) == []
