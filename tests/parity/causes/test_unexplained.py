"""Deviations that recognized causes explain, and those that they leave over."""

import dataclasses

import pytest

from parity.causes.basics.cause import HIGH, LOW, MEDIUM, Cause, Finding, RecognizedCause
from parity.causes.unexplained import hypothesis, unexplained_deviations, with_sound_confidence, without_superseded
from parity.comparison import stages
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.deviations import Deviations
from parity.diagnosis.stage_checks.deviation import Deviation
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers
from workloads.workload import MovingAverage


def deviation(stage, name="w", steps=(0, 1)):
    return Deviation(stage, name, steps, (0, 1), 100.0, "fact")


def recognized(stage, confidence=HIGH, covers=(), **finding):
    cause = Cause("CAUSE", stage, "", "", "", "", lambda evidence: None, covers=covers)
    return RecognizedCause(cause, Finding("sentence", confidence, "because", **finding))


def left_over(deviations, *causes):
    found = Deviations(list(deviations), [], [], [])
    return [entry.name for entry in unexplained_deviations(made_up_evidence(deviations=found), list(causes))]


def test_without_a_cause_everything_is_unexplained():
    assert left_over([deviation(stages.SLOTS, "a"), deviation(stages.WEIGHTS, "b")]) == ["a", "b"]


@pytest.mark.parametrize(
    "cause, explained",
    [
        (stages.GRADIENTS, {stages.LOSS, stages.GRADIENTS, stages.COMBINED}),
        (stages.SLOTS, {stages.SLOTS, stages.WEIGHTS}),
        (stages.AVERAGES, {stages.AVERAGES}),
    ],
)
def test_a_cause_explains_its_own_stages_and_no_other(cause, explained):
    found = [deviation(stage, stage) for stage in stages.STAGES]
    assert set(left_over(found, recognized(cause))) == set(stages.STAGES) - explained
    assert set(left_over(found, recognized(cause, covers=(stages.RATE,)))) == set(stages.STAGES) - {stages.RATE}


def test_a_cause_of_low_confidence_explains_nothing():
    assert left_over([deviation(stages.WEIGHTS)], recognized(stages.WEIGHTS, LOW)) == ["w"]
    assert left_over([deviation(stages.WEIGHTS)], recognized(stages.WEIGHTS, MEDIUM)) == []


def test_a_cause_of_some_variables_and_steps_explains_no_others():
    found = [deviation(stages.SLOTS, "a/m"), deviation(stages.SLOTS, "b/m"), deviation(stages.SLOTS, "a/v", (1,))]
    assert left_over(found, recognized(stages.SLOTS, variables=("a",))) == ["b/m"]
    assert left_over(found, recognized(stages.SLOTS, variables=("a",), steps=(1,))) == ["a/m", "b/m"]


@pytest.mark.parametrize("optimizer, left", [(optimizers.RMSProp(), ["w/rms"]), (None, ["w/momentum", "w/rms"])])
def test_a_slot_that_holds_the_change_is_explained_with_the_weights(optimizer, left):
    found = [deviation(stages.SLOTS, name) for name in ("w/momentum", "w/rms")]
    evidence = made_up_evidence((), Context(optimizer=optimizer), deviations=Deviations(found, [], [], []))
    cause = recognized(stages.WEIGHTS, covers=(stages.WEIGHTS,))
    assert [entry.name for entry in unexplained_deviations(evidence, [cause])] == left


@pytest.mark.parametrize("stage, explained", [(stages.LOSS, True), (stages.STATISTICS, True), (stages.AVERAGES, False)])
def test_proposals_are_made_by_the_forward_pass(stage, explained):
    found = [deviation(stages.STATISTICS, "m as proposed")]
    assert (left_over(found, recognized(stage)) == []) == explained


def averages(share, weight_factor=1.0):
    """Evidence of averages that take up `share` where the job's take up a quarter."""

    def taken(part, factor):
        weights = {"w": [4.0 * factor], "v": [8.0]}
        state = made_up_state(weights, averages={"w": [part * 4.0 * factor], "v": [0.25 * 8.0]}, step=1)
        return step_record(state=state)

    before = made_up_state({"w": [4.0], "v": [8.0]}, averages={"w": [0.0], "v": [0.0]})
    context = Context(replicas=1, moving_average=MovingAverage(0.75, warm_up=False))
    return made_up_evidence([compared_step(taken(0.25, 1.0), taken(share, 1.0), before)], context)


def test_fitted_constants_explain_only_what_they_explain_to_rounding():
    """One of two averages takes up another share: another decay explains that one and no longer the other."""
    evidence, cause = averages(0.5), recognized(stages.AVERAGES, constants={"decay": 0.5})
    assert [entry.name for entry in unexplained_deviations(evidence, [cause])] == ["v"]
    (lowered,) = with_sound_confidence(evidence, [cause])
    assert lowered.finding.confidence == MEDIUM
    assert lowered.finding.because == "because; but with these constants moving averages are not explained to rounding"
    right = recognized(stages.AVERAGES, constants={"decay": 0.75})
    assert with_sound_confidence(averages(0.25), [right]) == [right]


def test_constants_of_an_optimizer_make_another_context():
    context = Context(optimizer=optimizers.Adam())
    changed = hypothesis(recognized(stages.SLOTS, constants={"beta2": 0.9995}), context)
    assert changed == dataclasses.replace(context, optimizer=optimizers.Adam(beta2=0.9995))
    for other in (
        recognized(stages.SLOTS),
        recognized(stages.SLOTS, constants={"factor": 2.0}),
        recognized(stages.SLOTS, constants={"beta2": float("nan")}),
        recognized(stages.SLOTS, constants={"beta2": 0.5}, variables=("w",)),
        recognized(stages.AVERAGES, constants={"decay": 0.5}),
        recognized(stages.LOSS, constants={"beta2": 0.5}),
    ):
        assert hypothesis(other, context) is None


def test_constants_besides_numbers_are_no_fields_of_a_rule():
    context = Context(optimizer=optimizers.Adam())
    entry = recognized(stages.WEIGHTS, constants={"epsilon": 1e-7, "place": "after"})
    assert hypothesis(entry, context) is None
    field = recognized(stages.WEIGHTS, constants={"field": "epsilon", "value": 1e-7})
    changed = hypothesis(field, context)
    assert changed is not None and changed.optimizer == optimizers.Adam(epsilon=1e-7)


@pytest.mark.parametrize(
    "found, others, left",
    [
        ([deviation(stages.WEIGHTS)], [recognized(stages.WEIGHTS)], False),
        ([deviation(stages.WEIGHTS, "v")], [recognized(stages.WEIGHTS, variables=("w",))], True),
        ([deviation(stages.WEIGHTS)], [recognized(stages.LOSS)], True),
        ([deviation(stages.WEIGHTS)], [recognized(stages.WEIGHTS, LOW)], True),
        ([deviation(stages.WEIGHTS)], [], True),
    ],
)
def test_a_cause_of_low_confidence_is_left_out_where_others_explain_its_stages(found, others, left):
    evidence = made_up_evidence(deviations=Deviations(found, [], [], []))
    unknown = recognized(stages.WEIGHTS, LOW)
    assert without_superseded(evidence, [*others, unknown])[-1:] == ([unknown] if left else others)
