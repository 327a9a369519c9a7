"""Peak memory, with a command that only prints."""

import pytest

from parity.processes import child_command
from parity.speed.peak_memory import measure_peak_memory


@pytest.fixture
def printed(monkeypatch):
    """Makes the child run the given script, which sees the flags, instead of a module of this project."""

    def use(script):
        monkeypatch.setattr(
            child_command, "module_command", lambda python, module: [python, "-S", "-c", script, module]
        )

    return use


def test_the_last_line_names_the_bytes(printed):
    printed("""print('{"step": 1}'); print('{"peak_bytes": 4096}')""")
    assert measure_peak_memory("legacy", [], 3) == 4096


def test_the_flags_reach_the_sides_own_command(printed):
    printed("import sys, json; print(json.dumps({'peak_bytes': sys.argv[1:]}))")
    seen = measure_peak_memory("modern", ["--workload=x"], 3)
    assert seen == ["modern.train", "--steps=3", "--json_lines", "--workload=x"]


def test_a_process_that_fails_has_none(printed):
    printed("print('{\"peak_bytes\": 1}'); raise SystemExit(1)")
    assert measure_peak_memory("legacy", [], 3) is None
