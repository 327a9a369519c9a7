"""The matrix of versions: its table, and what is said where nothing can be installed."""

import subprocess

from tests import version_matrix
from tests.version_matrix import Pair

RESULTS = {
    Pair("3.11", "2.16"): version_matrix.RUNS,
    Pair("3.13", "2.16"): "lift: error: something",
    Pair("3.13", "2.17"): version_matrix.NO_WHEEL,
}


def test_the_table_says_what_runs_and_what_fails():
    text = version_matrix.page(RESULTS)
    assert "| TensorFlow | Python 3.10 | Python 3.11 | Python 3.12 | Python 3.13 |" in text
    assert "| 2.16 | not tried | runs | not tried | fails |" in text
    assert "| 2.17 | not tried | not tried | not tried | no TensorFlow for it |" in text
    assert "* TensorFlow 2.16, Python 3.13: lift: error: something" in text


def test_a_run_of_one_pair_keeps_what_the_page_shows_of_the_others(tmp_path, monkeypatch):
    shown = tmp_path / "versions.md"
    shown.write_text(version_matrix.page(RESULTS))
    monkeypatch.setattr(version_matrix, "try_pair", lambda pair, folder: "pip: no space left")
    options = ["--pythons=3.12", "--tensorflows=2.21", f"--folder={tmp_path}", f"--markdown={shown}"]
    monkeypatch.setattr(version_matrix.sys, "argv", ["version_matrix", *options])
    assert version_matrix.main() == 1
    assert version_matrix.read_page(shown.read_text()) == {**RESULTS, Pair("3.12", "2.21"): "pip: no space left"}
    assert version_matrix.read_page("") == {}


def test_an_interpreter_of_pyenv_comes_before_the_command_of_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(version_matrix.shutil, "which", lambda name: f"/somewhere/{name}")
    assert version_matrix.find_python("3.12") == "/somewhere/python3.12"
    folder = tmp_path / ".pyenv" / "versions" / "3.12.1" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").touch()
    assert version_matrix.find_python("3.12") == str(folder / "python")
    assert version_matrix.find_python("3.11") == "/somewhere/python3.11"


def test_what_cannot_be_installed_is_distinguished_from_what_fails(tmp_path, monkeypatch):
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
