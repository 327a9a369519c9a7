"""A child command's JSON, exit status and last words."""

import pytest

from parity.processes.json_command import run_json_command

MADE_UP = """
import json, os, sys
if sys.argv[1] != "--silent":
    json.dump([sys.argv[1], os.environ["NAME"]], open(sys.argv[-1].partition("=")[2], "w"))
print("last words", file=sys.stderr)
sys.exit(int(sys.argv[1] == "--fails"))
"""


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    (tmp_path / "made_up.py").write_text(MADE_UP)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return lambda flag, **settings: run_json_command("made_up", [flag], {"NAME": "value"}, **settings)


def test_a_command_ends_with_its_json_and_its_status(made_up):
    assert made_up("--works") == (0, ["--works", "value"], "", "")
    assert made_up("--fails") == (1, ["--fails", "value"], "last words", "")
    assert made_up("--silent") == (0, None, "", "")


def test_output_may_be_passed_on(made_up, capfd):
    assert made_up("--fails", passes_output_on=True).error == ""
    assert capfd.readouterr().err == "last words\n"
