"""Campaigns of injected faults: which trials are planned, how they are divided, and their summary."""

import queue

import pytest

from parity.fault_injection import campaign
from parity.fault_injection.campaign import Campaign, Portion
from parity.fault_injection.trial_log import TrialKey

REGRESSION = Campaign(("regression",), (2,))


def names(plan):
    return [injected.names for injected in campaign.plan_trials(plan)]


def keys(plan):
    return {TrialKey(" + ".join(one.names), one.base, one.replicas) for one in campaign.plan_trials(plan)}


def test_every_fault_that_can_occur_is_planned_at_every_number_of_replicas():
    at_two = names(REGRESSION)
    assert ("sum_for_mean",) in at_two and len(at_two) == len(set(at_two)) > campaign.PORTION
    both = campaign.plan_trials(REGRESSION._replace(replicas=(2, 4)))
    assert {injected.replicas for injected in both} == {2, 4} and {injected.base for injected in both} == {"regression"}


def test_a_fault_is_chosen_by_its_name_or_by_its_cause():
    by_name = campaign.plan_trials(REGRESSION._replace(only=("sum_for_mean",)))
    assert [injected.names for injected in by_name] == [("sum_for_mean",)]
    (cause,) = by_name[0].expected
    assert ("sum_for_mean",) in names(REGRESSION._replace(only=(cause,)))
    assert names(REGRESSION._replace(only=("no_such_fault",))) == []


def test_pairs_are_two_faults_at_once():
    pairs = names(REGRESSION._replace(pairs=True))
    assert ("sum_for_mean", "rate_times_replicas") in pairs and all(len(pair) == 2 for pair in pairs)


def test_faults_of_speed_are_injected_alone():
    assert campaign.speed_faults(REGRESSION._replace(pairs=True)) == []
    every = campaign.speed_faults(REGRESSION)
    assert {cause.id for cause, _ in every} >= {"EAGER_RUN", "INPUT_BOUND"}
    assert [fault.name for _, fault in campaign.speed_faults(REGRESSION._replace(only=("RETRACE",)))] == [
        "step_number_as_python_int"
    ]


def test_portions_cover_every_trial_once():
    portions, total = campaign.plan_portions(REGRESSION)
    trials = len(campaign.plan_trials(REGRESSION))
    assert portions == [Portion("regression", 2, first) for first in range(0, trials, campaign.PORTION)]
    assert total == trials + len(campaign.speed_faults(REGRESSION))


def test_trials_that_are_done_are_not_planned_again():
    every = keys(REGRESSION) | {campaign._speed_key(one) for one in campaign.speed_faults(REGRESSION)}
    done = frozenset(sorted(every)[:-3])
    rest = REGRESSION._replace(done=done)
    portions, total = campaign.plan_portions(rest)
    assert total == 3 and campaign.candidate_keys(rest) >= every
    left = keys(rest)
    of_speed = {fault.name for _, fault in campaign.speed_faults(rest)}
    assert {key.injected for key in left} | of_speed == {key.injected for key in every - done}


def test_the_slowest_workload_and_most_replicas_come_first(monkeypatch):
    monkeypatch.setattr(campaign, "SLOWEST", "sigmoid_stack")
    plan = Campaign(("regression", "sigmoid_stack"), (2, 4), only=("sum_for_mean",))
    portions, total = campaign.plan_portions(plan)
    assert [portion[:2] for portion in portions] == [
        ("sigmoid_stack", 4), ("sigmoid_stack", 2), ("regression", 4), ("regression", 2),
    ]  # fmt: skip
    assert total == 4


class DoneTask:
    """A task that has ended, with an error or without."""

    def __init__(self, error=None):
        self._error = error

    def ready(self):
        return True

    def get(self):
        if self._error is not None:
            raise self._error


def test_rows_of_a_task_that_failed_come_before_its_error():
    rows = queue.Queue()
    rows.put({"injected": "a"})
    seen = []
    with pytest.raises(RuntimeError, match="broken"):
        for row in campaign._rows_as_they_come([DoneTask(), DoneTask(RuntimeError("broken"))], rows):
            seen.append(row)
    assert seen == [{"injected": "a"}]


def row(injected, detected=True, right=True, confidence="high", wrong_and_sure=(), both_named=None):
    return {
        "injected": injected, "detected": detected, "right": right, "confidence": confidence,
        "wrong_and_sure": list(wrong_and_sure), "both_named": both_named,
    }  # fmt: skip


def test_a_summary_counts_trials_and_faults():
    rows = [row("a"), row("a", detected=False, right=False, confidence=None), row("b", right=False), row("c")]
    assert campaign.summarize_trials(rows, pairs=False) == {
        "runs": 4, "faults": 3, "detected": 0.75, "named_first": 0.5, "wrong_and_sure": 0, "first_wrong_and_sure": 1,
    }  # fmt: skip


def test_a_summary_of_pairs_has_the_share_of_which_both_were_named():
    rows = [row("a + b", both_named=True, wrong_and_sure=["C"]), row("a + c", both_named=False)]
    summary = campaign.summarize_trials(rows, pairs=True)
    assert summary["both_named"] == 0.5 and summary["wrong_and_sure"] == 1


def test_a_summary_of_nothing_has_no_shares():
    assert campaign.summarize_trials([], pairs=False)["detected"] == 0
