"""Ports with injected changes on real programs of two weights, and the inputs that their stages are given."""

import dataclasses

import pytest

from modern.options import ModernOptions
from parity.causes import catalogue
from parity.causes.basics import gradient_changes, injection
from parity.causes.update import update_changes
from parity.causes.update.earlier_gradients import OLDEST, Reading, earlier_gradients
from parity.confirmation import confirm
from parity.confirmation.given_inputs import GivenInputs
from parity.confirmation.injected_port import InjectedPort, UserStep, can_be_injected, chosen_steps, clean_setup
from parity.diagnosis import collect
from parity.diagnosis.context import job_context
from tests.cases import Dyadic, setup
from tests.refusals import refusal
from workloads.job import Job


@pytest.fixture(scope="module")
def dyadic():
    return setup(Dyadic())


@pytest.fixture(scope="module")
def users_steps(dyadic):
    """Two steps of the clean port from its own states."""
    with dyadic.modern_program() as program:
        before = program.state()
        steps = []
        for _ in range(2):
            record = program.step()
            steps.append(UserStep(before, record))
            before = record.state
    return steps


def take(dyadic, steps, *changes, given=True):
    with InjectedPort(dyadic, changes, steps[0].before) as port:
        return port.take_steps(steps, given)


def test_the_clean_port_repeats_the_users_steps(dyadic, users_steps):
    for mine, step in zip(take(dyadic, users_steps), users_steps):
        assert mine.losses == step.record.losses
        assert mine.state.weights == step.record.state.weights


def test_a_factor_in_the_gradients_does_not_reach_stages_whose_inputs_are_given(dyadic, users_steps):
    doubled = gradient_changes.scaled_gradients(replica=2.0, loss=4.0)
    given, own = (take(dyadic, users_steps[:1], doubled, given=flag)[0] for flag in (True, False))
    users = users_steps[0].record
    for record in (given, own):
        assert record.losses == [4 * loss for loss in users.losses]
        assert record.gradients[0]["a"] == 2 * users.gradients[0]["a"]
    assert given.combined == users.combined and given.state.weights == users.state.weights
    assert own.combined["a"] == 2 * users.combined["a"] and own.state.weights != users.state.weights


def test_inputs_that_are_not_recorded_are_the_ports_own(dyadic, users_steps):
    record = dataclasses.replace(users_steps[0].record, gradients=[], combined={})
    step = UserStep(users_steps[0].before, record)
    doubled = gradient_changes.scaled_gradients(replica=2.0)
    (mine,) = take(dyadic, [step], doubled)
    assert mine.combined["a"] == 2 * users_steps[0].record.combined["a"]


def test_a_later_change_wraps_an_earlier_one(dyadic, users_steps):
    changes = (gradient_changes.scaled_gradients(replica=2.0), gradient_changes.decayed_gradients({"a": (8.0, 8.0)}))
    users = users_steps[0].record.gradients[0]["a"]
    assert take(dyadic, users_steps[:1], *changes)[0].gradients[0]["a"] == 2 * users + 8.0
    assert take(dyadic, users_steps[:1], *changes[::-1])[0].gradients[0]["a"] == 2 * (users + 8.0)


def test_injected_updates_change_the_weights_alone(dyadic, users_steps):
    step, users = users_steps[0], users_steps[0].record
    old, new = step.before.weights["a"], users.state.weights["a"]
    (twice,) = take(dyadic, [step], update_changes.scaled_updates(2.0))
    assert twice.state.weights["a"] == old + 2 * (new - old)
    (still,) = take(dyadic, [step], update_changes.untrained_weights(["a"]))
    assert still.state.weights["a"] == old and still.state.weights["b"] == users.state.weights["b"]
    (decayed,) = take(dyadic, [step], update_changes.decoupled_decay(0.5))
    assert decayed.state.weights["a"] == new - 2.0**-4 * 0.5 * old


def test_a_change_acts_in_its_steps_only(dyadic, users_steps):
    skipped = take(dyadic, users_steps, update_changes.skipped_updates([1]))
    assert skipped[0].state.weights == users_steps[0].record.state.weights
    assert skipped[1].state.weights == users_steps[1].before.weights
    rates = take(dyadic, users_steps, update_changes.recorded_rates({1: 0.25}))
    assert [float(record.learning_rate) for record in rates] == [2.0**-4, 0.25]
    scaled = take(dyadic, users_steps, gradient_changes.gradients_scaled_by_step({1: (2.0, 1.0)}, {1: (1.0, 4.0)}))
    assert scaled[0].gradients == users_steps[0].record.gradients
    assert scaled[1].gradients[0]["a"] == 2 * users_steps[1].record.gradients[0]["a"]
    assert scaled[1].gradients[1] == users_steps[1].record.gradients[1]
    assert scaled[1].losses == [users_steps[1].record.losses[0], 4 * users_steps[1].record.losses[1]]


def test_a_decay_in_some_steps_has_its_penalty_in_the_loss(dyadic, users_steps):
    injected = gradient_changes.gradients_scaled_by_step({}, {}, {1: {"a": (8.0, 0.0)}})
    first, second = take(dyadic, users_steps, injected)
    assert (first.gradients, first.losses) == (users_steps[0].record.gradients, users_steps[0].record.losses)
    users, weight = users_steps[1].record, users_steps[1].before.weights["a"]
    assert second.gradients[0]["a"] == users.gradients[0]["a"] + 8.0 * weight
    assert second.losses[0] == users.losses[0] + 8.0 * weight**2 / 2
    assert second.gradients[1] == users.gradients[1] and second.losses[1] == users.losses[1]


def test_the_replicas_gradients_may_count_differently(dyadic, users_steps):
    (mine,) = take(dyadic, users_steps[:1], gradient_changes.weighted_reduction((0.25, 0.0)))
    assert mine.combined["a"] == 0.25 * users_steps[0].record.gradients[0]["a"]
    (partly,) = take(dyadic, users_steps[:1], gradient_changes.partly_scaled_gradients({"a": 0.0}))
    assert partly.gradients[0]["a"] == 0.0 and partly.gradients[0]["b"] == users_steps[0].record.gradients[0]["b"]
    (reduced,) = take(dyadic, users_steps[:1], gradient_changes.scaled_combined({"a": 4.0}))
    assert reduced.gradients == users_steps[0].record.gradients
    assert reduced.combined["a"] == 4.0 * users_steps[0].record.combined["a"]
    assert reduced.combined["b"] == users_steps[0].record.combined["b"]


def test_penalties_and_swaps_are_injected_in_single_weights(dyadic, users_steps):
    users, before = users_steps[0].record, users_steps[0].before.weights
    (mine,) = take(dyadic, users_steps[:1], gradient_changes.penalized_gradients(["b"], 0.5, 2.0))
    assert mine.gradients[0]["b"] == users.gradients[0]["b"] + 0.5 + 2.0 * before["b"]  # b = 2 is positive
    assert mine.losses[0] == users.losses[0] + 0.5 * before["b"] + before["b"] ** 2
    assert mine.gradients[0]["a"] == users.gradients[0]["a"]
    swap = {"a": "b", "b": "a"}
    (each,) = take(dyadic, users_steps[:1], gradient_changes.swapped_gradients(swap, combined=False))
    assert each.gradients[0]["a"] == users.gradients[0]["b"] != users.gradients[0]["a"]
    assert each.combined == users.combined  # of the user's own gradients
    (whole,) = take(dyadic, users_steps[:1], gradient_changes.swapped_gradients(swap, combined=True))
    assert whole.combined["a"] == users.combined["b"] and whole.gradients == users.gradients
    (slower,) = take(dyadic, users_steps[:1], update_changes.scaled_updates_of({"b": 0.5}))
    assert slower.state.weights["b"] == before["b"] + (users.state.weights["b"] - before["b"]) / 2
    assert slower.state.weights["a"] == users.state.weights["a"]


def test_the_first_and_the_last_steps_are_chosen():
    assert chosen_steps(range(13)) == list(range(13))
    assert chosen_steps(range(40)) == [*range(10), 37, 38, 39]
    assert chosen_steps(range(40), in_a_row=True) == list(range(13))


def test_asynchronous_jobs_cannot_be_injected_into(dyadic):
    assert can_be_injected(dyadic)
    assert not can_be_injected(dataclasses.replace(dyadic, job=Job(Dyadic(), staleness=1)))


def test_the_clean_port_has_legacys_mathematics_in_this_process(dyadic):
    keras = dataclasses.replace(dyadic, modern=ModernOptions(update_rules="keras", all_reduce="auto"), workers=2)
    clean = clean_setup(keras)
    assert (clean.modern.update_rules, clean.modern.all_reduce, clean.workers) == ("tf1", "tower_order", 1)


def test_records_without_a_step_of_given_inputs_are_left_alone():
    assert refusal(GivenInputs().set, None) == ""  # no program was built with them


def confirmed(dyadic, change, steps=3):
    """The first cause's id, confidence and confirmation for a fault in the port, from so many steps."""
    with dyadic.legacy_program() as left, change(dyadic) as right:
        evidence = collect.collect_evidence(left, right, job_context.context_of_job(dyadic.job), steps, 0)
    explained = confirm.confirm_causes(dyadic, evidence, catalogue.recognize_causes(evidence))
    first = explained.recognized[0]
    return first.id, first.finding.confidence, first.confirmation.confirmed


@pytest.mark.slow
def test_real_faults_are_confirmed(dyadic):
    late = earlier_gradients(Reading(1, 1), OLDEST)
    assert confirmed(dyadic, late, 20) == ("STALE_GRADIENT", "high", True)
    frozen = injection.in_update_rules(update_changes.untrained_weights(["a"]).rules[0])
    assert confirmed(dyadic, frozen) == ("VARIABLE_NOT_TRAINED", "high", True)
    tripled = gradient_changes.scaled_gradients(3.0, loss=3.0)
    assert confirmed(dyadic, tripled) == ("GRADIENT_SCALE", "high", True)
