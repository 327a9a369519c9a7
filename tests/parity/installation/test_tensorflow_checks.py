"""Checks of TensorFlow in this process, and of a child that fails."""

import subprocess

import pytest

from parity.installation import tensorflow_checks


def test_towers_and_replicas_run_here():
    tensorflow_checks._run_towers()
    tensorflow_checks._run_replicas()
    with pytest.raises(ValueError, match="the sum of 0 to 1 is 2.0"):
        tensorflow_checks._require_sum(2.0)


def test_a_trial_that_fails_has_its_reason():
    def fails():
        raise ValueError("no kernel\nat all")

    check = tensorflow_checks._trial("towers", fails, "2 towers")
    assert check.state == "FAILS" and check.detail == "no kernel" and "pip install" in check.remedy


@pytest.mark.parametrize(
    "stdout, stderr, status, reason",
    [
        ("", "Traceback\nImportError: libfoo.so", 1, "ImportError: libfoo.so"),
        ("", "", -4, "its process ended with status -4"),
        ("[1]", "", 0, "its process ended with status 0"),
    ],
)
def test_an_import_that_ends_its_process_is_one_line(monkeypatch, stdout, stderr, status, reason):
    ended = subprocess.CompletedProcess([], status, stdout, stderr)
    monkeypatch.setattr(tensorflow_checks.subprocess, "run", lambda *arguments, **options: ended)
    (check,) = tensorflow_checks.tensorflow_checks()
    assert check.state == "FAILS" and check.detail == f"does not import: {reason}"


def test_gpus_and_onednn_are_not_needed():
    checks = [*tensorflow_checks._gpu_checks([]), tensorflow_checks._onednn_check()]
    assert [check.name for check in checks] == ["GPUs", "NCCL", "oneDNN"]
    assert not any(check.needed for check in checks) and not checks[1].works
