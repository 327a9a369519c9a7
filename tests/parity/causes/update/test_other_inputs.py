"""Updates that read gradients of other steps, or slots without a past: six steps of momentum on made-up numbers."""

import numpy as np
import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.update import other_inputs
from parity.diagnosis.context.job_context import Context
from tests.parity.causes.stub_step import apply_rules, local_state, values_of
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers

CRITERIA = {cause.id: cause.criterion for cause in other_inputs.CAUSES}
CHANGES = {cause.id: cause.change for cause in other_inputs.CAUSES}
CONTEXT = Context(1, 4, optimizer=optimizers.Momentum(0.5), combine="mean")
GRADIENTS = [np.array([1.0, -2.0, 4.0]) * 1.5**step + step * np.array([0.0, 1.0, 0.25]) for step in range(6)]


def trajectory(read=lambda step: GRADIENTS[step], forgets=()):
    """(state before, record) of each step; `read(step)` is the gradient that the update reads."""
    weights, slot, rows = np.array([1.0, 2.0, 3.0]), np.zeros(3), []
    for step, gradient in enumerate(GRADIENTS):
        before = state_of(weights, slot, step)
        slot = 0.5 * (0.0 if step in forgets else slot) + read(step)
        weights = weights - 0.5 * slot
        rows.append(
            (
                before,
                step_record(step, [1.0], [{"w": gradient}], {"w": gradient}, 0.5, state_of(weights, slot, step + 1)),
            )
        )
    return rows


def state_of(weights, slot, step):
    return made_up_state({"w": weights.astype(np.float32)}, {"w/momentum": slot.astype(np.float32)}, step=step)


def recognized(right, left=None):
    pairs = zip(trajectory() if left is None else left, right)
    steps = [compared_step(a, b, before, other) for (before, a), (other, b) in pairs]
    evidence = made_up_evidence(steps, CONTEXT)
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def late(lag):
    return lambda step: GRADIENTS[step - lag] if step >= lag else np.zeros(3)


def test_updates_from_their_own_steps_are_no_cause():
    assert recognized(trajectory()) == {}


@pytest.mark.parametrize("lag, words", [(1, "the gradient of the step before"), (2, "the gradient of 2 steps before")])
def test_a_late_gradient_is_named(lag, words):
    found = recognized(trajectory(late(lag)))
    assert list(found) == ["STALE_GRADIENT"]
    assert words in found["STALE_GRADIENT"].sentence and found["STALE_GRADIENT"].confidence == HIGH
    assert found["STALE_GRADIENT"].constants == {"lag": lag, "steps": 1, "start": "zeros"}


def test_a_mean_of_the_last_gradients_is_named():
    found = recognized(trajectory(lambda step: (GRADIENTS[max(step - 1, 0)] + GRADIENTS[step]) / 2))
    assert list(found) == ["STALE_GRADIENT"]
    assert "the mean of the gradients of the last 2 steps" in found["STALE_GRADIENT"].sentence


@pytest.mark.parametrize(
    "first, start", [(GRADIENTS[0], "oldest"), (GRADIENTS[0] / 2, "zeros"), (GRADIENTS[0] * 3, "")]
)
def test_the_first_steps_tell_what_stands_for_gradients_before_them(first, start):
    found = recognized(trajectory(lambda step: (GRADIENTS[step - 1] + GRADIENTS[step]) / 2 if step else first))
    finding = found["STALE_GRADIENT"]
    assert finding.constants == {"lag": 0, "steps": 2, "start": start}
    assert (CHANGES["STALE_GRADIENT"](finding, None) is None) == (start == "")


def test_a_gradient_of_no_step_is_not_stale():
    assert recognized(trajectory(lambda step: 1.25 * GRADIENTS[max(step - 1, 0)])) == {}


def test_slots_that_start_anew_are_named_with_the_steps():
    found = recognized(trajectory(forgets=(2, 4)))
    assert list(found) == ["SLOTS_START_ANEW"]
    finding = found["SLOTS_START_ANEW"]
    assert (finding.steps, finding.constants) == ((2, 4), {"slots": (("momentum", 0.0),)})
    assert finding.confidence == HIGH


def test_slots_that_start_anew_in_most_steps_have_another_constant():
    assert recognized(trajectory(forgets=range(6))) == {}


def test_nothing_is_said_where_legacy_has_another_rule():
    assert recognized(trajectory(late(1)), trajectory(late(1))) == {}


@pytest.mark.parametrize("step, slot", [(3, 9.0), (4, 1.0)])  # the rules below add 1 to each slot
def test_the_injected_slots_start_anew_in_their_steps_only(step, slot):
    local = local_state(step, {"w": 1.0}, {"w/momentum": 8.0})
    apply_rules("momentum_starts_anew", local, {"w": 0.0}, 0.5)
    assert values_of(local.slots)["w/momentum"] == slot
