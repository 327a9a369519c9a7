"""The command `parity.verify`: its flags, and the recording that they name."""

import dataclasses
from unittest import mock

import pytest

from parity.comparison.result import Verdict
from tests.cases import Dyadic, setup
from tests.own_flags import own_flags, set_flags
from workloads.records.record_program import record_program
from workloads.support.errors import InputError

with own_flags():
    import parity.verify as verify


def test_at_least_one_step_and_one_left_side():
    verify.check_flags()
    with set_flags(verify.FLAGS, steps=0), pytest.raises(InputError, match="--steps: got 0, must be at least 1"):
        verify.check_flags()
    both = set_flags(verify.FLAGS, recording="run.npz", legacy_python="python3.7")
    with both, pytest.raises(InputError, match="--recording: got 'run.npz', not with --legacy_python"):
        verify.check_flags()


@pytest.mark.parametrize(
    "values, expected",
    [
        ({}, "exact"),
        ({"recording": "run.npz"}, "auto"),
        ({"legacy_python": "python3.7"}, "auto"),
        ({"recording": "run.npz", "tolerance": "exact"}, "exact"),
        ({"tolerance": "auto"}, "auto"),
    ],
)
def test_identical_bits_are_required_in_one_environment_unless_a_flag_says_otherwise(values, expected):
    with set_flags(verify.FLAGS, **values):
        assert verify.tolerance_name() == expected


def test_a_report_is_an_html_file_that_can_be_written(tmp_path):
    for path, allowed in (
        ("report.pdf", "must be the path of an .html file"),
        ("nowhere/a.html", "a file in a folder"),
    ):
        with set_flags(verify.FLAGS, report=path), pytest.raises(
            InputError, match=f"--report: got '{path}', .*{allowed}"
        ):
            verify.check_flags()
    with set_flags(verify.FLAGS, report=str(tmp_path / "a.html")):
        verify.check_flags()
        assert verify.plan_from_flags().with_history


def test_the_plan_has_the_flags_values():
    assert verify.plan_from_flags().steps == 20
    with set_flags(verify.FLAGS, steps=3, mode="locked", tolerance="auto", floor=False):
        plan = verify.plan_from_flags()
    assert (plan.steps, plan.mode, plan.tolerance_name, plan.with_references) == (3, "locked", "auto", False)
    assert plan.with_visits
    with set_flags(verify.FLAGS, visits=False):
        assert not verify.plan_from_flags().with_visits


def test_without_a_recording_the_towers_run_here(tmp_path):
    assert verify.recording_from_flags(setup(Dyadic()), str(tmp_path)) is None


def test_a_recording_must_hold_as_many_steps(tmp_path):
    made, path = setup(Dyadic()), str(tmp_path / "run.npz")
    with made.legacy_program() as program:
        record_program(program, made.job, 2, path)
    with set_flags(verify.FLAGS, recording=path, steps=2):
        recording = verify.recording_from_flags(made, str(tmp_path))
    assert recording.steps == 2
    refused = pytest.raises(InputError, match="--steps: got 3, the recording holds 2")
    with set_flags(verify.FLAGS, recording=path, steps=3), refused:
        verify.recording_from_flags(made, str(tmp_path))


@dataclasses.dataclass
class MadeUpSetup:
    """Stands for a `Setup`."""

    job: mock.Mock
    replicated: bool = False


@pytest.mark.parametrize("verdict, status", [(Verdict.PARITY, 0), (Verdict.NO_PARITY, 1), (Verdict.NOT_SHOWN, 3)])
@pytest.mark.parametrize(
    "lifted, recording, three_ways",
    [(True, "folder", True), (True, "run.npz", False), (True, None, False), (False, "folder", False)],
)
def test_a_lifts_folder_of_records_is_compared_three_ways(lifted, recording, three_ways, verdict, status, monkeypatch):
    made, called = MadeUpSetup(mock.Mock()), []
    made.job.workload.is_lifted = lifted
    monkeypatch.setattr(verify.environment, "prepare", lambda exact: None)
    monkeypatch.setattr(verify.parity_flags, "setup_from_flags", lambda exact: made)
    monkeypatch.setattr(verify, "_verify_recorded_run", lambda _: called.append("three ways") or verdict)
    monkeypatch.setattr(verify, "_verify_programs", lambda _: called.append("programs") or verdict)
    with set_flags(verify.FLAGS, recording=recording):
        assert verify.main() == status
    assert called == ["three ways" if three_ways else "programs"]
