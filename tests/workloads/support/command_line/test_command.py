"""The command line's harness: exit statuses, refusals in one line, help, and --json; processes without TensorFlow."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from absl import flags

from tests import commands
from workloads.support.command_line import command, flag_help
from workloads.support.errors import InputError, Lost

ROOT = str(pathlib.Path(__file__).parents[4])

SCRIPT = '''"""The description."""
from absl import flags
from workloads.support.command_line import command
from workloads.support.errors import InputError, Lost
flags.DEFINE_integer("count", 1, "How many.", lower_bound=1)
flags.DEFINE_enum("how", "free", ("free", "locked"), "The mode.")
command.define_json()
def main(*operands):
    if flags.FLAGS.count == 2:
        raise InputError("--count: got 2,\\n not this one")
    if flags.FLAGS.count == 3:
        raise Lost("worker 1 has ended")
    if flags.FLAGS.count == 4:
        raise KeyboardInterrupt
    if flags.FLAGS.count == 5:
        raise BrokenPipeError
    command.write_json({"operands": operands})
    print("operands", *operands)
    return 7 if flags.FLAGS.how == "locked" else None
console = command.entry(main, __doc__, OPERANDS)
if __name__ == "__main__":
    console()
'''


@pytest.fixture
def run(tmp_path):
    """Function (arguments, operands) to the finished process of a small command."""

    def run_script(*arguments, operands="", start=("script.py",)):
        (tmp_path / "script.py").write_text(SCRIPT.replace(", OPERANDS", operands))
        return subprocess.run(
            [sys.executable, *start, *arguments],
            cwd=tmp_path,
            env=dict(os.environ, PYTHONPATH=ROOT),
            capture_output=True,
            text=True,
        )

    return run_script


def test_main_returns_the_exit_status(run):
    assert run().returncode == 0
    assert run("--how=locked").returncode == 7


@pytest.mark.parametrize(
    "argument, status, line",
    [
        ("--count=2", 2, "error: --count: got 2, not this one\n"),
        ("--count=3", 1, "error: worker 1 has ended\n"),
        ("--count=4", 130, "interrupted\n"),
        ("--count=5", 141, ""),
        ("--how=loose", 2, "error: flag --how=loose: value should be one of <free|locked> (see --help)\n"),
        ("--count=0", 2, "error: flag --count=0: 0 is not a positive integer (see --help)\n"),
        ("--cuont=1", 2, "error: Unknown command line flag 'cuont'. Did you mean: count ? (see --help)\n"),
        ("stray", 2, "error: argument: got ['stray'], flags only; see --help\n"),
        ("--json=/no/such/f", 2, "error: --json: got '/no/such/f', must be a file in a folder that exists and can be"),
    ],
)
def test_each_end_has_its_status_and_at_most_one_line(argument, status, line, run):
    process = run(argument)
    assert process.returncode == status, process.stderr
    assert process.stderr.startswith(line) and process.stderr.count("\n") <= 1 and process.stdout == ""


def test_positional_arguments_are_counted_and_handed_to_main(run):
    operands = ', "GRAPH", "OUT"'
    assert run("a", "--count=1", "b", operands=operands).stdout == "operands a b\n"
    for given in ([], ["a"], ["a", "b", "c"]):
        process = run(*given, operands=operands)
        assert process.returncode == 2
        assert process.stderr == f"error: argument: got {given}, expected GRAPH OUT; see --help\n"


def test_help_begins_with_the_modules_description_also_from_a_console_script(run):
    for start in (("script.py",), ("-c", "import script; script.console()")):
        process = run("--help", start=start)
        assert process.returncode == 0 and process.stderr == ""
        assert process.stdout.startswith("The description.\n\nFlags of this command\n  --count\n")
        assert "<free|locked>: The mode. (default: free)" in process.stdout
        assert "--json" in process.stdout and "absl" not in process.stdout


def test_json_is_written_where_it_is_asked_for(run, tmp_path):
    assert run("x", f"--json={tmp_path / 'out.json'}", operands=', "X"').returncode == 0
    assert json.loads((tmp_path / "out.json").read_text()) == {"operands": ["x"]}
    assert sorted(os.listdir(tmp_path)) == ["out.json", "script.py"]


@pytest.mark.parametrize("path", ["-", "/dev/stdout"])
def test_json_on_standard_output_is_alone_there(path, run, tmp_path):
    process = run("x", f"--json={path}", operands=', "X"')
    assert process.returncode == 0
    assert json.loads(process.stdout) == {"operands": ["x"]} and process.stderr == "operands x\n"
    assert os.listdir(tmp_path) == ["script.py"] and os.path.islink("/dev/stdout")


def parsed(*arguments):
    """Flag values of a command with `--json` that was given `arguments`."""
    values = flags.FlagValues()
    command.define_json(values)
    values(["program", *arguments])
    return values


def test_json_is_checked_before_and_optional(tmp_path):
    command.check_json(parsed())
    command.check_json(flags.FlagValues())  # a command without that flag
    command.check_json(parsed(f"--json={tmp_path / 'new.json'}"))
    with pytest.raises(InputError, match="--json: got"):
        command.check_json(parsed(f"--json={tmp_path}"))  # a folder
    command.write_json({"a": 1}, parsed())
    assert os.listdir(tmp_path) == []


def test_an_exception_has_the_status_of_its_kind(capsys):
    def failing(error):
        def work():
            raise error

        return work

    assert command.status_of(lambda: None) == 0 and command.status_of(lambda: 1) == 1
    assert command.status_of(failing(InputError("two\nlines"))) == 2
    assert command.status_of(failing(Lost("gone"))) == 1
    assert capsys.readouterr().err == "error: two lines\nerror: gone\n"
    with pytest.raises(ZeroDivisionError):  # a defect shows its traceback
        command.status_of(failing(ZeroDivisionError()))


def test_assignments_split_at_the_first_equals_sign():
    assert command.assignments(["a=1", "b=c=d"], "--feed", "name=value") == {"a": "1", "b": "c=d"}
    with pytest.raises(InputError, match="--feed: got 'a', expected name=value"):
        command.assignments(["a"], "--feed", "name=value")


def test_every_value_of_a_list_must_be_allowed():
    command.require_each(["a", "b"], ("a", "b", "c"), "--names")
    with pytest.raises(InputError, match="--names: got 'd', allowed: a, b, c"):
        command.require_each(["a", "d"], ("a", "b", "c"), "--names")


@pytest.mark.parametrize("argument, asked", [("--help", True), ("-h", True), ("--helpfull", True), ("--helped", False)])
def test_help_is_asked_for_in_several_ways(argument, asked):
    assert flag_help.is_asked_for(["program", "--count=1", argument]) is asked
    assert not flag_help.is_asked_for(["--help"])  # the program's own name


def test_the_commands_own_flags_come_first():
    values = flags.FlagValues()
    shared = {"flag_values": values, "module_name": "workloads.support.command_line.command"}
    flags.DEFINE_boolean("fast", True, "Be fast.", **shared)
    flags.DEFINE_list("names", [], "Names,   in order.", **shared)
    flags.DEFINE_string("out", None, "The file.", flag_values=values, module_name="mine")
    flags.DEFINE_string("kind", "", "The kind.", flag_values=values, module_name="workloads.job")
    text = flag_help.help_text(" Describes it. ", values, "mine")
    own = "Flags of this command\n  --out\n      The file."
    titled = "All commands\n  --[no]fast\n      Be fast. (default: true)\n  --names\n      Names, in order."
    untitled = (
        "`Job`: a workload with the size it is run at, and all else that decides the numbers\n  --kind\n      The kind."
    )
    assert text == f"Describes it.\n\n{own}\n\n{titled}\n\n{untitled}\n"


@pytest.mark.parametrize("name", ["verify", "diagnose", "benchmark"])
def test_every_group_of_a_commands_flags_has_a_title_for_its_user(name):
    process = commands.run(f"parity.{name}", "--help")
    titles = [line for line in process.stdout.splitlines() if line and not line.startswith(" ")]
    titles = titles[titles.index("Flags of this command") :]
    assert {"All commands", "Output", "Legacy: construction of the tower graph"} <= set(titles)
    assert not any("`" in title for title in titles)  # code is for those who read the modules
    assert "(default: )" not in process.stdout
