"""`tower-parity` and its subcommands, and commands in a folder that has packages of the project's names."""

import importlib.util
import os
import subprocess
import sys

import pytest

import parity
from parity import __main__ as tower_parity
from parity.processes import child_command
from parity.subcommands import SUBCOMMANDS, subcommand_list
from tests.stderr import without_progress
from workloads.support.errors import InputError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

#: Heading of the job's flags in a command's help, and some of the subcommands that have them.
OF_THE_JOB = "\nThe job, which both sides share\n"
WITH_A_JOB = {
    "verify",
    "benchmark",
    "survival",
    "lost-worker",
    "placement",
    "legacy-train",
    "legacy-record",
    "modern-train",
}


def run(*arguments, cwd):
    """The finished process of this interpreter, with the project on its path behind `cwd`."""
    environment = dict(os.environ, PYTHONPATH=ROOT)
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)


def test_every_subcommand_is_a_module_with_a_console():
    for subcommand in SUBCOMMANDS:
        source = importlib.util.find_spec(subcommand.module).origin
        with open(source, encoding="utf-8") as file:
            assert "\nconsole = command.entry(main, " in file.read(), subcommand
    assert len({subcommand.name for subcommand in SUBCOMMANDS}) == len(SUBCOMMANDS)


def test_the_subcommands_with_a_job_exist():
    assert {subcommand.name for subcommand in SUBCOMMANDS} > WITH_A_JOB


def test_every_command_of_setup_cfg_is_a_subcommand():
    with open(os.path.join(ROOT, "setup.cfg"), encoding="utf-8") as file:
        lines = [line.strip() for line in file if ":console" in line]
    modules = [line.partition(" = ")[2].partition(":")[0] for line in lines]
    assert set(modules) - {"parity.__main__"} <= {subcommand.module for subcommand in SUBCOMMANDS}
    assert len(lines) >= 17


def test_the_first_argument_names_the_module():
    assert tower_parity.module_of(["lift", "x.meta"]) == "legacy.lift"
    assert tower_parity.module_of(["clean-runs"]) == "parity.qualification.clean_runs"
    assert tower_parity.module_of([]) == tower_parity.module_of(["--steps=3"]) == "parity.all_workloads"
    with pytest.raises(InputError, match="argument: got 'verfy', allowed: doctor, "):
        tower_parity.module_of(["verfy"])


def test_the_list_has_a_line_for_each():
    lines = subcommand_list().splitlines()[1:]
    assert [line.split()[0] for line in lines] == [subcommand.name for subcommand in SUBCOMMANDS]
    assert max(map(len, lines)) <= 100


def test_the_version_is_said_without_tensorflow(tmp_path):
    process = run("-X", "importtime", "-m", "parity", "--version", cwd=tmp_path)
    assert process.stdout == f"tower-parity {parity.__version__}\n" and process.returncode == 0
    assert "absl" not in process.stderr and "tensorflow" not in process.stderr


def test_help_lists_the_subcommands(tmp_path):
    process = run("-m", "parity", "--help", cwd=tmp_path)
    assert process.returncode == 0 and subcommand_list() in process.stdout and "--phase" in process.stdout
    assert "--workload" in process.stdout and OF_THE_JOB in process.stdout


def test_a_subcommand_gets_the_rest_of_the_command_line(tmp_path):
    process = run("-m", "parity", "verify", "--mode=loose", cwd=tmp_path)
    assert process.returncode == 2 and "--mode=loose: value should be one of" in process.stderr
    process = run("-m", "parity", "clean-runs", "--help", cwd=tmp_path)
    assert process.returncode == 0 and "--first_seed" in process.stdout and "--phase" not in process.stdout
    process = run("-m", "parity", "verfy", cwd=tmp_path)
    assert process.returncode == 2 and process.stderr.startswith("error: argument: got 'verfy', allowed: doctor, ")


@pytest.fixture(params=["package", "folder", "module"])
def folder(request, tmp_path):
    """A user's folder with `legacy`, `modern` and `workloads` of its own."""
    for name in ("legacy", "modern", "workloads"):
        if request.param == "module":
            (tmp_path / f"{name}.py").write_text("raise AssertionError('the user\\'s')\n")
            continue
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.py").write_text("")
        if request.param == "package":
            (tmp_path / name / "__init__.py").write_text("raise AssertionError('the user\\'s')\n")
    return tmp_path


@pytest.mark.parametrize("module", ["parity", "parity.verify", "parity.faults", "parity.qualification.faults"])
def test_packages_of_the_same_names_in_the_users_folder_are_not_taken(module, folder):
    process = run("-m", module, "stray", cwd=folder)
    assert process.returncode == 2 and process.stderr.startswith("error: argument: got "), process.stderr


def test_an_installed_script_is_not_disturbed_either(folder):
    script = folder / "bin" / "tower-parity"
    script.parent.mkdir()
    script.write_text("from parity.__main__ import console\nconsole()\n")
    process = run(str(script), "inspect", cwd=folder)
    assert process.returncode == 2 and "argument: got [], expected GRAPH" in process.stderr


@pytest.mark.parametrize("module", ["legacy.record", "modern.train", "parity"])
def test_child_processes_run_the_projects_commands(module, folder):
    (folder / "parity").mkdir(exist_ok=True)
    (folder / "parity" / "__init__.py").write_text("raise AssertionError('the user\\'s')\n")
    command = [*child_command.module_command(sys.executable, module), "stray"]
    process = subprocess.run(
        command, cwd=folder, env=dict(os.environ, PYTHONPATH=str(folder)), capture_output=True, text=True
    )
    assert process.returncode == 2 and process.stderr.startswith("error: argument: got "), process.stderr


@pytest.mark.parametrize("subcommand", SUBCOMMANDS, ids=lambda subcommand: subcommand.name)
def test_help_begins_with_the_commands_own_description_and_knows_its_json(subcommand, tmp_path):
    process = run("-c", "from parity.__main__ import console; console()", subcommand.name, "--help", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith(f"`python -m {subcommand.module.split('.')[0]}"), process.stdout[:80]
    if subcommand.name in WITH_A_JOB:
        assert "--workload" in process.stdout and OF_THE_JOB in process.stdout
    with open(importlib.util.find_spec(subcommand.module).origin, encoding="utf-8") as file:
        assert ("--json\n" in process.stdout) == ("command.write_json(" in file.read())


def test_a_users_module_that_wants_its_own_package_of_that_name_is_reported(tmp_path):
    (tmp_path / "legacy").mkdir()
    (tmp_path / "legacy" / "net.py").write_text("")
    (tmp_path / "mine.py").write_text("from legacy import net\nfrom legacy.net import x\n")
    process = run("-m", "parity.verify", "--workload=mine:X", cwd=tmp_path)
    assert process.returncode == 4 and without_progress(process.stderr).count("\n") == 1, process.stderr
    assert "legacy" in process.stderr and "is a package of tower-parity; rename yours" in process.stderr
