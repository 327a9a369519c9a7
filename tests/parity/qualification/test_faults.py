"""The command of injected faults: its flags and its exit status."""

import pytest

from tests.own_flags import own_flags, set_flags
from tests.refusals import refusal
from workloads.support.errors import InputError

with own_flags():
    from parity.qualification import faults


@pytest.mark.parametrize("texts", [["2"], ["2", "8"]])
def test_numbers_of_replicas_from_two_to_eight_are_allowed(texts):
    assert refusal(faults.check_replicas, texts) == ""


@pytest.mark.parametrize("text", ["1", "9", "two", "-2", ""])
def test_other_numbers_of_replicas_are_refused(text):
    with pytest.raises(InputError, match=f"--injected_replicas: got '{text}', numbers from 2 to 8"):
        faults.check_replicas(["2", text])


def test_unknown_workloads_are_refused():
    faults.check_flags()
    refused = pytest.raises(InputError, match="--workloads: got 'other', allowed: ")
    with set_flags(faults.FLAGS, workloads=["regression", "other"]), refused:
        faults.check_flags()


@pytest.mark.parametrize("detected, wrong, status", [(1, 0, 0), (0.999, 0, 1), (1, 1, 1)])
def test_a_fault_that_was_missed_and_a_wrong_cause_fail(detected, wrong, status):
    assert faults.exit_status({"detected": detected, "first_wrong_and_sure": wrong}) == status


def test_a_file_of_trials_that_cannot_be_written_is_refused_before_any_trial(tmp_path):
    with set_flags(faults.FLAGS, trials=str(tmp_path / "trials.jsonl")):
        faults.check_flags()
    refused = pytest.raises(InputError, match="--trials: got .*, must be a file in a folder that exists")
    with set_flags(faults.FLAGS, trials=str(tmp_path / "no" / "trials.jsonl")), refused:
        faults.check_flags()
