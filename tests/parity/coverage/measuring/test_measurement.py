"""Whole measurements of small jobs: what they see, what they miss, and training that moves nothing."""

import dataclasses

import pytest
import tensorflow as tf

from parity.comparison.result import Verdict
from parity.comparison.stages import COMBINED
from parity.coverage.mutant import Choice
from parity.verdict import compare_programs
from parity.verdict.compare_programs import ComparisonPlan
from parity.verdict.measurement_plan import CoveragePlan, measurement
from tests.cases import Dyadic, Everything, setup
from workloads import initializers, schedules
from workloads.workload import Clip, MovingAverage


def compared(workload, steps=3, **plan):
    comparison = compare_programs.compare_programs(setup(workload), None, ComparisonPlan(steps, **plan))
    return comparison.verification, {(o.mutant.name, o.mutant.change): o for o in comparison.coverage.outcomes}


@dataclasses.dataclass(frozen=True)
class IgnoresWeights(Dyadic):
    """A loss without weights in it, as after a wrong `stop_gradient`."""

    def loss(self, scope, batch):
        a = scope.get("a", (), initializers.Constant(1.0))
        return tf.reduce_mean(batch["x"]) + 0.0 * tf.stop_gradient(a)


@dataclasses.dataclass(frozen=True)
class Overflows(Dyadic):
    """A loss that is not a number."""

    def loss(self, scope, batch):
        return super().loss(scope, batch) * float("nan")


@pytest.mark.parametrize(
    "workload, reason",
    [
        (IgnoresWeights(), "the gradients are zero in every compared step, as of a loss that ignores the weights"),
        (dataclasses.replace(Dyadic(), learning_rate=schedules.Fixed(0.0)), "the learning rate is zero"),
        (Overflows(), "NaN or infinite in every compared step"),
    ],
)
def test_training_that_moves_nothing_shows_nothing(workload, reason):
    verification, _ = compared(workload)
    assert verification.passed and verification.verdict is Verdict.NOT_SHOWN
    assert len(verification.not_shown) == 1 and reason in verification.not_shown[0]


def test_each_mutant_that_is_tried_is_told(monkeypatch):
    """In an old graph one takes as long as a step."""
    told = []
    monkeypatch.setattr(compare_programs.Progress, "note", lambda self, text: told.append(text))
    _, outcomes = compared(Dyadic(), steps=1, with_visits=False)
    numbers = [text.rpartition("mutant ")[2] for text in told]
    assert numbers == [f"{number} of {len(outcomes)}" for number in range(1, len(outcomes) + 1)] and told


FAR = dataclasses.replace(
    Dyadic(),
    learning_rate=schedules.PiecewiseConstant((350000,), (0.125, 0.0625)),
    clip=Clip(512.0),
    moving_average=MovingAverage(0.9999),
)


def test_visits_show_what_the_first_steps_hide():
    verification, outcomes = compared(FAR)
    assert verification.verdict is Verdict.PARITY and verification.not_shown == []
    assert outcomes["schedule.boundary at step 350,001", "one step late"].place.startswith("step 350,001 (at")
    assert outcomes["clip.none", "no clipping at all"].place.startswith("weights")
    assert outcomes["clip.none", "no clipping at all"].stage == COMBINED
    assert all(not outcome.is_missing for outcome in outcomes.values())


def test_a_weight_that_its_gradient_is_rounded_off_beside_moves_near_zero():
    """As the bias of a layer before batch normalization."""

    @dataclasses.dataclass(frozen=True)
    class Large(Dyadic):
        def loss(self, scope, batch):
            return super().loss(scope, batch) + 2.0**-30 * scope.get("large", (), initializers.Constant(1.0))

    verification, outcomes = compared(Large())
    assert verification.verdict is Verdict.PARITY
    assert outcomes["update of large", "left out"].place == "weights near zero that have not moved"
    verification, _ = compared(Large(), with_visits=False)
    (reason,) = verification.not_shown
    assert reason.endswith("its gradient or its learning rate is zero, or too small beside it)")


def test_visits_start_from_the_last_state_without_overflow():
    overflows = schedules.PiecewiseConstant((2, 4, 350000), (0.125, 3e38, 0.125, 0.0625))
    _, outcomes = compared(dataclasses.replace(FAR, learning_rate=overflows), steps=5)
    assert outcomes["schedule.boundary at step 350,001", "one step late"].place.startswith("step 350,001 (at")


def test_without_visits_the_same_run_does_not_show_them():
    verification, outcomes = compared(FAR, with_visits=False)
    assert verification.verdict is Verdict.NOT_SHOWN and verification.visits == []
    missing = {name for (name, _), outcome in outcomes.items() if outcome.is_missing}
    assert {"schedule.boundaries[0]", "moving_average.decay", "clip.none"} <= missing
    assert any(line.startswith("schedule.boundaries[0] (first at step 350,001") for line in verification.not_shown)


def test_a_net_with_everything_is_seen_whole():
    verification, outcomes = compared(Everything(), steps=4)
    assert verification.verdict is Verdict.PARITY
    assert {outcome.mutant.choice for outcome in outcomes.values()} >= {Choice.DECAY, Choice.STATISTICS, Choice.UPDATE}


def test_a_weight_that_the_loss_does_not_use_cannot_matter():
    @dataclasses.dataclass(frozen=True)
    class Unused(Dyadic):
        def loss(self, scope, batch):
            scope.get("unused", ())
            return super().loss(scope, batch)

    verification, outcomes = compared(Unused())
    left_out = outcomes["update of unused", "left out"]
    assert not left_out.seen and not left_out.is_missing and left_out.why == "the loss does not depend on the weight"
    assert verification.verdict is Verdict.PARITY


def test_towers_that_read_a_queue_are_not_visited():
    made = setup(Dyadic(), legacy={"input": "queue"})
    comparison = compare_programs.compare_programs(made, None, ComparisonPlan(1))
    assert comparison.coverage.no_visits.startswith("the towers' queue") and comparison.verification.visits == []


@pytest.mark.parametrize("first", [0, 1004])
def test_weights_that_move_are_seen_whatever_step_the_comparison_begins_with(first):
    made = setup(Dyadic())
    plan = CoveragePlan("exact", no_visits="--novisits")
    with made.legacy_program() as program, measurement(made, program.variables(), plan) as found:
        program.load(dataclasses.replace(program.state(), step=first))
        for _ in range(2):
            before = program.state()
            found.observe(before, program.step(), None)
        assert not any(reason.startswith("no weight moves") for reason in found.reasons())
        assert any(outcome.seen for outcome in found.outcomes if outcome.mutant.choice is Choice.UPDATE)
