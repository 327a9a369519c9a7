"""The command of clean runs: its report of runs that are flagged."""

import contextlib
import json

import pytest

from parity.experiments.false_alarms import MODES, CleanRun
from tests.own_flags import own_flags, set_flags

with own_flags():
    from parity.qualification import clean_runs


class InlinePool:
    """A pool that runs its tasks here, the last first."""

    def imap_unordered(self, function, items):
        return [function(item) for item in reversed(items)]


@pytest.fixture
def alarms(monkeypatch):
    """{(seed, mode): alarms} that the runs raise; the pool runs them in this process."""
    raised = {}

    def run_case(case, steps):
        assert steps == clean_runs.FLAGS.run_steps
        return [CleanRun(case, mode, 48, raised.get((case.seed, mode), [])) for mode in MODES]

    monkeypatch.setattr(clean_runs.false_alarms, "run_clean_case", run_case)
    monkeypatch.setattr(clean_runs, "process_pool", lambda *_: contextlib.nullcontext(InlinePool()))
    with set_flags(clean_runs.FLAGS, runs=4, first_seed=5):
        yield raised


def test_runs_without_alarms_are_a_success(alarms, capsys):
    assert clean_runs.main() == 0
    assert capsys.readouterr().out == "4 clean runs, seeds 5 to 6: 0 flagged\n"


def test_a_run_that_is_flagged_is_printed_and_fails(alarms, capsys, monkeypatch, tmp_path):
    alarms[6, "locked"] = ["NO PARITY"]
    path = tmp_path / "out.json"
    monkeypatch.setattr(clean_runs.command, "write_json", lambda content: path.write_text(json.dumps(content)))
    assert clean_runs.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FLAGGED {'workload': ") and lines[1] == "4 clean runs, seeds 5 to 6: 1 flagged"
    content = json.loads(path.read_text())
    assert [run["seed"] for run in content["runs"]] == [5, 5, 6, 6] and content["flagged"] == 1
