"""The pytest plugin, in a session of pytest below this one, with results that are made up."""

import json

import pytest

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest
from parity.library import calls
from parity.library.results import Verification

@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    def verify(workload, **flags):
        content = {"workload": workload, "verdict": flags["verdict"], "steps": 4, "not_shown": [], "stages": {}}
        return Verification({**content, "causes": [{"cause": "ADAM_EPS", "sentence": ""}]}, "the report")
    monkeypatch.setattr(calls, "verify", verify)
"""

TESTS = """
def test_good(parity_job):
    assert parity_job("good", verdict="parity").steps == 4

def test_bad(parity_job):
    parity_job("bad", verdict="no parity")
"""


@pytest.fixture
def session(pytester):
    """Function (arguments) that runs the tests above and returns the result."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_ports=TESTS)
    return lambda *arguments: pytester.runpytest_inprocess("-p", "parity.library.pytest_plugin", *arguments)


def test_a_comparison_without_parity_fails_its_test(session, pytester):
    result = session("--parity-report=report.json")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["the report", "parity: good, 4 steps (test_ports.py::test_good): ADAM_EPS"])
    rows = json.loads((pytester.path / "report.json").read_text())["comparisons"]
    assert [(row["test"], row["verdict"]) for row in rows] == [
        ("test_ports.py::test_good", "parity"),
        ("test_ports.py::test_bad", "no parity"),
    ]


def test_a_report_that_cannot_be_written_is_refused_at_once(session):
    result = session("--parity-report=nowhere/report.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--parity-report: got 'nowhere/report.json', must be a file in a folder*"])
