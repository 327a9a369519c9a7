"""`parity.doctor`: which checks are made, how the page ends, and its exit status."""

import os
import subprocess
import sys

import pytest

from parity.installation import old_interpreters, tensorflow_checks
from parity.installation.check import Check
from tests.house import ROOT
from tests.own_flags import own_flags

with own_flags(shared=False):
    from parity import doctor

FINE = Check("installed", "numpy", True, "2.0", remedy="pip install numpy")
ADDED = Check("additions", "matplotlib", False, "not installed", needed=False, remedy="pip install matplotlib")
BROKEN = Check("installed", "rich", False, "not installed", remedy="pip install rich")


def examined(monkeypatch, packages):
    monkeypatch.setattr(doctor, "package_checks", lambda required: packages)
    monkeypatch.setattr(tensorflow_checks, "tensorflow_checks", lambda: [Check("runs", "TensorFlow", True, "2.21")])
    monkeypatch.setattr(old_interpreters, "interpreter_checks", lambda: iter([]))
    return [check.name for check in doctor.examine()]


def test_tensorflow_is_not_tried_without_its_packages(monkeypatch):
    assert examined(monkeypatch, [FINE, ADDED]) == ["numpy", "TensorFlow", "matplotlib"]
    assert examined(monkeypatch, [FINE, BROKEN, ADDED]) == ["numpy", "rich", "matplotlib"]


@pytest.mark.parametrize("checks, status, last", [([FINE, ADDED], 0, None), ([BROKEN], 1, "next: pip install rich")])
def test_the_last_lines_say_what_to_do(monkeypatch, capsys, checks, status, last):
    written = []
    monkeypatch.setattr(doctor, "examine", lambda: iter(checks))
    monkeypatch.setattr(doctor.command, "write_json", written.append)
    assert doctor.main() == status
    lines = capsys.readouterr().out.splitlines()
    (content,) = written
    assert content["works"] == (status == 0) and content["checks"][0]["state"] == checks[0].state
    if last:
        assert lines[-1] == last and lines[-2] == "rich fails: not installed"
    else:
        assert f"next: {doctor.FIRST}" in lines and content["next"] == doctor.FIRST


def test_an_empty_environment_is_told_what_to_install():
    hide = "import runpy, sys; sys.modules['absl'] = None; runpy.run_module('parity.doctor', run_name='__main__')"
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    process = subprocess.run([sys.executable, "-c", hide], env=environment, capture_output=True, text=True)
    assert process.returncode == 1 and process.stderr.startswith("error: absl-py is not installed; ")
