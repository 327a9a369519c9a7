"""Flags of a comparison: what is refused, the plan, and the recording that they name."""

import pytest

from tests.cases import Dyadic, setup
from tests.own_flags import own_flags, set_flags
from workloads.records.record_program import record_program
from workloads.support.errors import InputError

with own_flags() as FLAGS:
    from parity import verify_flags

    verify_flags.define_comparison(FLAGS)


def test_at_least_one_step_and_one_left_side():
    verify_flags.check_comparison(FLAGS)
    with set_flags(FLAGS, steps=0), pytest.raises(InputError, match="--steps: got 0, must be at least 1"):
        verify_flags.check_comparison(FLAGS)
    both = set_flags(FLAGS, recording="run.npz", legacy_python="python3.7")
    with both, pytest.raises(InputError, match="--recording: got 'run.npz', not with --legacy_python"):
        verify_flags.check_comparison(FLAGS)


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
    with set_flags(FLAGS, **values):
        assert verify_flags.tolerance_name(FLAGS) == expected


def test_a_report_is_an_html_file_that_can_be_written(tmp_path):
    for path, allowed in (
        ("report.pdf", "must be the path of an .html file"),
        ("nowhere/a.html", "a file in a folder"),
    ):
        with set_flags(FLAGS, report=path), pytest.raises(InputError, match=f"--report: got '{path}', .*{allowed}"):
            verify_flags.check_comparison(FLAGS)
    with set_flags(FLAGS, report=str(tmp_path / "a.html")):
        verify_flags.check_comparison(FLAGS)
        assert verify_flags.plan_from_flags(FLAGS).with_history


def test_the_plan_has_the_flags_values():
    assert verify_flags.plan_from_flags(FLAGS).steps == 20
    with set_flags(FLAGS, steps=3, mode="locked", tolerance="auto", floor=False):
        plan = verify_flags.plan_from_flags(FLAGS)
    assert (plan.steps, plan.mode, plan.tolerance_name, plan.with_references) == (3, "locked", "auto", False)
    assert plan.with_visits
    with set_flags(FLAGS, visits=False):
        assert not verify_flags.plan_from_flags(FLAGS).with_visits


def test_without_a_recording_the_towers_run_here(tmp_path):
    assert verify_flags.recording_from_flags(FLAGS, setup(Dyadic()), str(tmp_path)) is None


def test_a_recording_must_hold_as_many_steps(tmp_path):
    made, path = setup(Dyadic()), str(tmp_path / "run.npz")
    with made.legacy_program() as program:
        record_program(program, made.job, 2, path)
    with set_flags(FLAGS, recording=path, steps=2):
        recording = verify_flags.recording_from_flags(FLAGS, made, str(tmp_path))
    assert recording.steps == 2
    refused = pytest.raises(InputError, match="--steps: got 3, the recording holds 2")
    with set_flags(FLAGS, recording=path, steps=3), refused:
        verify_flags.recording_from_flags(FLAGS, made, str(tmp_path))
