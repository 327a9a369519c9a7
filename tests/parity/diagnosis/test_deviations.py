"""Deviations of made-up runs: where they are found, where they are not, and what cannot be judged."""

import dataclasses

import numpy as np
import pytest

from parity.comparison import stages
from parity.diagnosis import deviations
from parity.diagnosis.context.job_context import Context
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers
from workloads.workload import Clip, MovingAverage

SGD = Context(replicas=1, optimizer=optimizers.GradientDescent(), combine="mean")


def places(evidence):
    return [(found.stage, found.name) for found in evidence.deviations.found]


def sgd_step(number=0, gradient=4.0, factor=1.0, weight=8.0, **record):
    """A step of gradient descent at a learning rate of 0.5, whose update is `factor` times the rule's."""
    before = made_up_state({"w": [weight, 1.0]}, step=number)
    state = made_up_state({"w": [weight - 0.5 * factor * gradient, 1.0]}, step=number + 1)
    values = {"w": [gradient, 0.0]}
    return step_record(number, gradients=[values], combined=values, state=state, **record), before


def compared(left, right, number=0):
    return compared_step(left[0], right[0], left[1], right[1])


def test_equal_runs_have_none():
    found = made_up_evidence([compared(sgd_step(), sgd_step())], SGD).deviations
    assert found == deviations.Deviations([], [], [], [])


@pytest.mark.parametrize("gap, unjudged", [(0.9e-4, ()), (1.1e-4, (3,))])
def test_passes_from_weights_that_have_diverged_are_not_judged(gap, unjudged):
    step = compared(sgd_step(3, weight=8.0), sgd_step(3, weight=8.0 * (1 + gap)))
    assert made_up_evidence([step], SGD).deviations.unjudged_passes == unjudged
    record = step_record(3, state=made_up_state({"w": [8.0, 1.0]}))
    without = compared_step(record, record, step.left_before, step.right_before)
    assert made_up_evidence([without], Context(replicas=1)).deviations.unjudged_passes == ()


def test_a_difference_does_not_travel():
    """A wrong update in step 0 changes weights and gradients in step 1, where every stage is right."""
    steps = [
        compared(sgd_step(), sgd_step(factor=1.5)),
        compared(sgd_step(1, 2.0, weight=6.0), sgd_step(1, 1.0, weight=5.0)),
    ]
    evidence = made_up_evidence(steps, SGD)
    assert places(evidence) == [(stages.WEIGHTS, "w")]
    assert evidence.deviations.found[0].steps == (0,)
    assert evidence.deviations.found[0].judged == (0, 1)
    assert evidence.deviations.differing == [stages.GRADIENTS, stages.COMBINED, stages.WEIGHTS]


def test_independent_faults_are_each_found():
    left, right = sgd_step(losses=[1.0]), sgd_step(losses=[2.0], factor=2.0, learning_rate=0.25)
    record = dataclasses.replace(right[0], combined={"w": np.float32([1.0, 0.0])})
    evidence = made_up_evidence([compared(left, (record, right[1]))], SGD)
    assert [stage for stage, _ in places(evidence)] == [stages.LOSS, stages.COMBINED, stages.RATE, stages.WEIGHTS]


def test_a_rule_that_does_not_explain_legacy_is_not_used():
    """Both sides move 1.5 times as far: another optimizer than the context says, the same on both sides."""
    same = made_up_evidence([compared(sgd_step(factor=1.5), sgd_step(factor=1.5))], SGD)
    assert places(same) == []
    further = made_up_evidence([compared(sgd_step(factor=1.5), sgd_step(factor=3.0))], SGD)
    assert places(further) == [(stages.WEIGHTS, "w")]
    legacy = made_up_evidence([compared(sgd_step(factor=1.5), sgd_step())], SGD)
    assert legacy.deviations.found[0].side == "left"


def test_another_context_explains_what_the_jobs_own_does_not():
    rule, other = MovingAverage(0.75, warm_up=False), MovingAverage(0.5, warm_up=False)

    def taken(share):
        state = made_up_state({"w": [4.0]}, averages={"w": [share * 4.0]}, step=1)
        return step_record(state=state)

    before = made_up_state({"w": [4.0]}, averages={"w": [0.0]})
    context = Context(replicas=1, moving_average=rule)
    evidence = made_up_evidence([compared_step(taken(0.25), taken(0.5), before)], context)
    assert places(evidence) == [(stages.AVERAGES, "w")]
    assert evidence.deviations_with(dataclasses.replace(context, moving_average=other)).found == []
    assert evidence.deviations_with(context).found == evidence.deviations.found


@pytest.mark.parametrize("power, is_found", [(0.999, False), (0.99, False), (0.5, True)])
def test_powers_may_be_those_of_legacys_checkpoint_or_of_the_ports_own_constant(power, is_found):
    """A checkpoint holds 0.999 after no step; a port with 0.99 that starts anew has 0.99."""
    left, right = (made_up_state({"w": [4.0]}, slots={"beta2_power": np.float32(start)}) for start in (0.999, power))
    step = compared_step(step_record(state=left), step_record(state=right), left, right)
    context = Context(replicas=1, optimizer=optimizers.Adam())
    other = dataclasses.replace(context, optimizer=optimizers.Adam(beta2=0.99))
    found = made_up_evidence([step], context).deviations_with(other).found
    assert any(entry.stage == stages.INITIAL for entry in found) == is_found


def test_other_batches_and_masks_are_found_and_gradients_are_then_not_judged():
    left, right = sgd_step(digests=["a"]), sgd_step(digests=["b"], losses=[2.0])
    evidence = made_up_evidence([compared(left, right)], SGD)
    assert places(evidence) == [(stages.BATCH, "examples")]
    left, right = (sgd_step(losses=[loss], masks=[{"drop": [loss == 1.0]}]) for loss in (1.0, 2.0))
    assert places(made_up_evidence([compared(left, right)], SGD)) == [(stages.LOSS, "drop (dropout mask)")]


def test_drift_is_found():
    evidence = made_up_evidence([compared(sgd_step(), sgd_step(drift=["moving_mean"]))], SGD)
    assert places(evidence) == [(stages.STATISTICS, "moving_mean (copies)")]


def test_a_weight_that_drifts_with_its_average_is_found_once_a_step():
    evidence = made_up_evidence([compared(sgd_step(), sgd_step(drift=["w", "w"]))], SGD)
    (found,) = evidence.deviations.found
    assert (found.name, found.steps) == ("w (copies)", (0,))
    assert found.sentence.startswith("statistics, w (copies) in step 0, the only one judged")


@pytest.mark.parametrize("clip, found", [(None, [(stages.COMBINED, "w")]), (Clip(2.0, "combined"), [])])
def test_clipping_is_the_contexts(clip, found):
    record, before = sgd_step()
    clipped = {"w": np.float32([2.0, 0.0])}
    state = made_up_state({"w": [7.0, 1.0]}, step=1)
    right = dataclasses.replace(record, combined=clipped, state=state)
    left = right if clip else record
    evidence = made_up_evidence([compared((left, before), (right, before))], dataclasses.replace(SGD, clip=clip))
    assert places(evidence) == found


def test_statistics_follow_the_policy_that_explains_legacy():
    def taken(kept):
        return step_record(state=made_up_state(statistics={"m": kept}, step=1), proposals=[{"m": [2.0]}, {"m": [4.0]}])

    before = made_up_state(statistics={"m": [1.0]})
    evidence = made_up_evidence([compared_step(taken([3.0]), taken([2.0]), before)])
    assert places(evidence) == [(stages.STATISTICS, "m")]
    assert evidence.deviations.found[0].fact == "is what replica 0 proposes"


def test_pure_rounding_is_reported():
    def taken(noise):
        return step_record(gradients=[{"w": [1.0, 1.0], "bias": [noise, 0.0]}])

    evidence = made_up_evidence([compared_step(taken(1e-8), taken(-1e-8))], Context(replicas=1))
    assert evidence.deviations.pure_rounding == ["bias"]
    assert places(evidence) == []


@pytest.mark.parametrize(
    "about, units", [({"keras": "3.12"}, True), ({"update rules": "keras"}, True), ({"torch": "2.0"}, False)]
)
def test_keras_formulas_need_more_roundings_however_a_recording_names_them(about, units):
    adam = optimizers.Adam()
    context = Context(optimizer=adam, about={"right": about})
    assert deviations._update_units(context, 1) == (adam.keras_class().update_units if units else 0.0)
    assert deviations._update_units(context, 0) == 0.0
