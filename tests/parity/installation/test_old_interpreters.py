"""Interpreters with TensorFlow 1.x: which are looked at, and what is said of each."""

import pytest

from parity.installation import old_interpreters
from workloads.support.errors import InputError


@pytest.fixture
def here(monkeypatch, tmp_path):
    """A machine whose only interpreter is the file that is returned; `make legacy-python` has made none."""
    path = tmp_path / "python"
    path.write_text("")
    monkeypatch.setattr(old_interpreters, "MADE", str(tmp_path / "none"))
    monkeypatch.setattr(old_interpreters.shutil, "which", lambda name: None)
    monkeypatch.setattr(old_interpreters.glob, "glob", lambda pattern: [str(path), "/root/.pyenv/shims/python3.7"])
    monkeypatch.delenv(old_interpreters.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    return str(path)


def test_named_interpreters_come_first_and_each_once(here, monkeypatch):
    assert old_interpreters.named_interpreter() is None and list(old_interpreters.interpreters_here()) == [here]
    monkeypatch.setenv(old_interpreters.VARIABLE, here)
    assert old_interpreters.named_interpreter() == here and list(old_interpreters.interpreters_here()) == [here]


@pytest.mark.parametrize(
    "version, names",
    [
        ("1.15.5", ["TensorFlow 1.15.5"]),
        ("2.21.0", ["TensorFlow 2.21.0", "TensorFlow 1.x"]),
        (None, ["an old Python", "TensorFlow 1.x"]),
    ],
)
def test_an_interpreter_with_tensorflow_1_works(here, monkeypatch, version, names):
    def tensorflow_version(path):
        if version is None:
            raise InputError("--legacy_python: no TensorFlow")
        return version

    monkeypatch.setattr(old_interpreters, "tensorflow_version", tensorflow_version)
    checks = list(old_interpreters.interpreter_checks())
    assert [check.name for check in checks] == names
    assert [check.works for check in checks] == [version == "1.15.5"] + [False] * (len(names) - 1)
    assert not any(check.needed for check in checks) and (checks[-1].remedy != "") == (version != "1.15.5")


def test_a_name_that_leads_nowhere_is_said(here, monkeypatch):
    monkeypatch.setenv(old_interpreters.VARIABLE, "/no/such/python")
    monkeypatch.setattr(old_interpreters, "tensorflow_version", lambda path: "1.15.5")
    first = next(old_interpreters.interpreter_checks())
    assert first.detail == "names /no/such/python, which does not exist"
