"""Command lines and environments of children."""

import os
import subprocess
import sys

import pytest
from absl import flags

from parity.processes import child_command

MODULE = "some.module"


@pytest.fixture
def flag_values():
    values = flags.FlagValues()
    for define, name, default in (
        (flags.DEFINE_string, "text", "a b"),
        (flags.DEFINE_boolean, "yes", True),
        (flags.DEFINE_boolean, "no", False),
        (flags.DEFINE_integer, "number", 3),
        (flags.DEFINE_list, "several", ["a", "b"]),
        (flags.DEFINE_string, "unset", None),
    ):
        define(name, default, "", flag_values=values)
        values.register_flag_by_module(MODULE, values[name])
    values.mark_as_parsed()
    return values


def test_flags_are_passed_on_as_a_command_line_has_them(flag_values):
    arguments = child_command.flag_arguments(flag_values, [MODULE])
    assert sorted(arguments) == ["--no=false", "--number=3", "--several=a,b", "--text=a b", "--yes=true"]


def test_flags_are_left_out_by_name_and_by_module(flag_values):
    arguments = child_command.flag_arguments(flag_values, [MODULE], without=("text", "several"))
    assert sorted(arguments) == ["--no=false", "--number=3", "--yes=true"]
    assert child_command.flag_arguments(flag_values, ["another.module"]) == []


def test_a_child_finds_the_project_and_the_current_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["mine", ""]))
    environment = child_command.child_environment()
    assert environment["PYTHONPATH"].split(os.pathsep) == [child_command.ROOT, str(tmp_path), "mine"]
    assert os.path.isfile(os.path.join(child_command.ROOT, "parity", "__init__.py"))


def test_another_interpreter_gets_nothing_of_this_ones(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "mine")
    monkeypatch.setenv("PYTHONHOME", "/here")
    monkeypatch.setenv("VIRTUAL_ENV", "/here")
    environment = child_command.other_interpreter_environment()
    assert environment["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), "mine"]
    assert not {"PYTHONHOME", "VIRTUAL_ENV"} & set(environment)


def test_a_module_is_run_as_a_main_module_with_its_arguments(monkeypatch, tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "main.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    monkeypatch.setattr(child_command, "ROOT", str(tmp_path))
    command = child_command.module_command(sys.executable, "package.main")
    process = subprocess.run([*command, "--flag"], capture_output=True, text=True, cwd=tmp_path)
    assert process.stdout == "__main__ ['--flag']\n", process.stderr
