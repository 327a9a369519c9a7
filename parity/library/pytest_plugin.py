"""pytest plugin: the fixture `parity_job`, and `--parity-report` for a file with the results of its comparisons.

def test_port(parity_job):
    parity_job("port.py:PORT", replicas=4)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from workloads.support.errors import InputError
from workloads.support.files import json_file
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.library.results import Verification

#: Name of the property under which a test's report carries a comparison, also from another process to pytest's own.
PROPERTY = "parity"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--parity-report`."""
    group = parser.getgroup("tower-parity")
    group.addoption(
        "--parity-report", metavar="FILE", help="write the results of all comparisons of parity_job to a JSON file"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuses a report that could not be written, before any test runs."""
    path = config.getoption("--parity-report")
    if path is not None:
        try:
            json_file.require_writable(path, "--parity-report")
        except InputError as error:
            raise pytest.UsageError(str(error)) from error
    config.pluginmanager.register(_Results(path), "tower-parity results")


@pytest.fixture
def parity_job(request: pytest.FixtureRequest) -> Callable[..., Verification]:
    """Function (workload, **flags) that compares towers and port as `parity.verify` does, and fails without parity.

    It returns the `Verification`.
    """
    from parity.library.calls import verify

    def compare(workload: Any, **flags: Any) -> Verification:
        result = verify(workload, **flags)
        request.node.user_properties.append((PROPERTY, result.summary()))
        if not result.passed:
            pytest.fail(str(result), pytrace=False)
        return result

    return compare


class _Results:
    """Collects the comparisons of all tests, and reports them at the end.

    Args:
      path: file of the report, or None.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._comparisons: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps the comparisons of a test that has ended."""
        if report.when == "call":
            for name, summary in report.user_properties:
                if name == PROPERTY and isinstance(summary, dict):
                    self._comparisons.append({"test": report.nodeid, **summary})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints one line a comparison, and writes the report."""
        if self._comparisons:
            terminalreporter.section("parity")
        for entry in self._comparisons:
            causes, steps = ", ".join(entry["causes"]), counted(entry["steps"], "step")
            terminalreporter.line(
                f"{entry['verdict']}: {entry['workload']}, {steps} ({entry['test']})"
                + (f": {causes}" if causes else "")
            )
        if self._path is not None:
            json_file.write_json(self._path, {"comparisons": self._comparisons})
