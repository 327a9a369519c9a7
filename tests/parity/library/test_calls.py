"""The functions of `import parity`: what they run, what they return, and what they raise."""

import subprocess
import sys

import pytest

from parity.library import calls
from parity.processes.json_command import CommandEnd
from workloads.support.errors import InputError, UserError

CAUSE = {
    "cause": "LOSS_NOT_DIVIDED",
    "sentence": "Every gradient is 2 x legacy's.",
    "confidence": "high",
    "fix": "Divide <it>.",
}
STAGES = {"loss": {"tensors": 2, "elements": 2, "differing_elements": 1, "max_rel": 0.5, "max_ulp": 9}}


def content(verdict="parity", causes=(), not_shown=()):
    return {
        "workload": "mine",
        "verdict": verdict,
        "steps": 4,
        "causes": list(causes),
        "not_shown": list(not_shown),
        "stages": STAGES,
        "facts": ["losses differ"],
    }


@pytest.fixture
def ends(monkeypatch):
    """Function (status, content of --json or None, stderr): how the next command ends; returns the flags given."""
    given = []

    def decide(status, written, error=""):
        def run(module, arguments, variables):
            given.append(arguments)
            return CommandEnd(status, written, error, "the report\n")

        monkeypatch.setattr(calls, "run_json_command", run)
        return given

    return decide


def test_a_workload_is_verified_in_a_process_of_its_own():
    script = (
        "import parity, sys\nresult = parity.verify('regression', steps=2)\nassert 'tensorflow' not in sys.modules\n"
    )
    script += "print(repr(result), result.passed, sep='\\n')"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert process.stdout == "<Verification of regression: parity, 2 steps>\nTrue\n", process.stderr


def test_a_flag_that_cannot_be_used_is_an_error_with_the_commands_line():
    with pytest.raises(InputError, match="^--steps: got 0, must be at least 1$"):
        calls.verify("regression", steps=0)


def test_flags_are_given_as_the_command_takes_them(ends):
    given = ends(0, content())
    calls.verify("mine:JOB", replicas=4, visits=False, devices=["CPU:0", "CPU:1"])
    assert given[0] == ["--workload=mine:JOB", "--replicas=4", "--visits=false", "--devices=CPU:0,CPU:1"]


def test_the_result_of_a_failed_comparison(ends):
    ends(1, content("no parity", [CAUSE]))
    result = calls.verify("mine:JOB")
    assert not result.passed and result.causes == ["LOSS_NOT_DIVIDED"] and str(result) == "the report"
    assert repr(result) == (
        "<Verification of mine: no parity, 4 steps\n  LOSS_NOT_DIVIDED: Every gradient is 2 x legacy's.>"
    )
    assert "<td>1 of 2</td><td>0.5</td>" in result._repr_html_() and "legacy&#x27;s" in result._repr_html_()


@pytest.mark.parametrize("verdict, status", [("no parity", 1), ("not shown", 3)])
def test_what_is_no_parity_fails_an_assertion_with_the_report(verdict, status, ends):
    ends(status, content(verdict))
    with pytest.raises(AssertionError, match="^the report$"):
        calls.assert_parity("mine:JOB")


def test_parity_fails_no_assertion(ends):
    ends(0, content())
    calls.assert_parity("mine:JOB")


@pytest.mark.parametrize("status, passed", [(0, True), (1, False), (3, False)])
def test_two_recordings_are_diagnosed(status, passed, ends):
    given = ends(status, content(causes=[CAUSE]))
    result = calls.diagnose("a.npz", "b.npz")
    assert given[0] == ["--left=a.npz", "--right=b.npz"] and result.passed == passed
    assert "<td>Divide &lt;it&gt;.</td>" in result._repr_html_()
    if passed:
        calls.assert_parity("a.npz", "b.npz")
    else:
        with pytest.raises(AssertionError):
            calls.assert_parity("a.npz", "b.npz")


def test_users_code_that_fails_is_a_user_error(ends):
    ends(4, None, "error: mine.py:3: ValueError: no")
    with pytest.raises(UserError, match="^mine.py:3: ValueError: no$"):
        calls.verify("mine:JOB")


def test_a_command_that_ends_in_another_way_is_an_error_too(ends):
    ends(-9, None, "killed")
    with pytest.raises(RuntimeError, match="parity.verify ended with status -9: killed"):
        calls.verify("mine:JOB")
