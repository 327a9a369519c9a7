"""The matrix of versions: its table, and what is said where nothing can be installed."""

import subprocess

from tests import version_matrix
from tests.version_matrix import Pair


def test_the_table_says_what_runs_and_what_fails():
    results = {Pair("3.11", "2.16"): version_matrix.RUNS, Pair("3.13", "2.16"): "lift: error: something"}
    text = version_matrix.page(results, ["3.11", "3.12", "3.13"], ["2.16"])
    assert "| TensorFlow | Python 3.11 | Python 3.12 | Python 3.13 |" in text
    assert "| 2.16 | runs | not tried | fails |" in text
    assert "* TensorFlow 2.16, Python 3.13: lift: error: something" in text


def test_what_cannot_be_installed_is_told_from_what_fails(tmp_path, monkeypatch):
    def run(said):
        def ended(command, **_):
            return subprocess.CompletedProcess(command, 1 if "pip" in command else 0, "", said)

        monkeypatch.setattr(version_matrix.subprocess, "run", ended)
        return version_matrix.make_environment(Pair("3.11", "2.16"), tmp_path / "new")

    monkeypatch.setattr(version_matrix, "find_python", lambda version: "python")
    assert run("ERROR: No matching distribution found for tensorflow") == version_matrix.NO_WHEEL
    assert run("a\nno space left") == "pip: no space left"
    monkeypatch.setattr(version_matrix, "find_python", lambda version: None)
    assert run("") == version_matrix.NO_PYTHON


def test_the_first_command_that_fails_is_named(tmp_path, monkeypatch):
    ran = []

    def run(command, **_):
        ran.append(command)
        return subprocess.CompletedProcess(command, int("legacy.lift" in command), "", "one\nlast\n")

    (tmp_path / "installed").touch()
    monkeypatch.setattr(version_matrix.subprocess, "run", run)
    assert version_matrix.try_pair(Pair("3.11", "2.16"), tmp_path) == "lift: last"
    assert len(ran) == len(version_matrix.WORKLOADS) + 1
