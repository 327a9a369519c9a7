"""The file of finished trials."""

import json

import pytest

from parity.fault_injection.trial_log import TrialKey, TrialLog, key_of
from workloads.support.errors import InputError


def row(injected="sum_for_mean", replicas=2):
    return {
        "injected": injected, "expected": ["LOSS_NOT_DIVIDED"], "workload": "regression", "model": "regression",
        "replicas": replicas, "detected": True, "stage": "combined gradients", "named": "LOSS_NOT_DIVIDED",
        "confidence": "high", "right": True, "all_named": ["LOSS_NOT_DIVIDED"], "both_named": None,
        "wrong_and_sure": [], "sentence": "The port sums.", "seconds": 0.5,
    }  # fmt: skip


def test_a_log_keeps_each_trial_as_it_ends(tmp_path):
    path = str(tmp_path / "trials.jsonl")
    log = TrialLog(path)
    assert log.rows == []
    log.add(row())
    assert TrialLog(path).rows == [row()]
    log.add(row(replicas=4))
    assert TrialLog(path).rows == log.rows == [row(), row(replicas=4)]
    assert key_of(log.rows[1]) == TrialKey("sum_for_mean", "regression", 4)


def test_a_line_that_was_cut_off_is_dropped_and_the_next_one_stands_by_itself(tmp_path):
    path = tmp_path / "trials.jsonl"
    path.write_text(json.dumps(row()) + "\n" + json.dumps(row("other"))[:40])
    log = TrialLog(str(path))
    assert log.rows == [row()]
    log.add(row("later"))
    assert TrialLog(str(path)).rows == [row(), row("later")]


@pytest.mark.parametrize(
    "text, message",
    [
        ("[1]\n", "line 1 of .* is not a trial"),
        (json.dumps(row()) + "\n{}\n", "line 2 of .* is not a trial"),
        ("not JSON\n", "line 1 of .* is not a trial"),
        ("no line at all", "holds no trials"),
    ],
)
def test_another_file_is_refused_and_left_as_it_is(tmp_path, text, message):
    path = tmp_path / "trials.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="--trials: .*" + message):
        TrialLog(str(path))
    assert path.read_text() == text


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="--trials: .* cannot be read"):
        TrialLog(str(tmp_path))
