"""Whatever is wrong with a user's own workload or data is reported in one line that names their file and line."""

import re
import sys

import pytest

from tests import old_programs
from tests.broken_workloads.all_cases import AT_BUILD, AT_RUN
from tests.broken_workloads.case import Healthy, place_of, workload_with
from tests.broken_workloads.data import DATA
from tests.broken_workloads.fields import FIELDS, NoDataclass
from tests.cases import setup
from tests.commands import run
from tests.stderr import without_progress
from workloads.data.function import FunctionData
from workloads.job import Job
from workloads.lifted import sources
from workloads.selection import registry
from workloads.support.command_line import command
from workloads.support.errors import InputError, UserError
from workloads.support.user import user_code

STEPS = 2


def reported_by(work):
    """The error that `work` is reported to end with, in one line; None if it ends well."""
    try:
        work()
    except (Exception, SystemExit) as error:
        reported = user_code.reported_error(error)
        assert reported is not None, f"a traceback of {error!r}"
        assert "Graph execution error" not in str(reported) and str(reported).count("\n") == 0
        return reported
    return None


def run_side(workload, side, run=True, **options):
    """Takes two steps of a workload on one side; `run` them, or observe each."""
    made = setup(workload, **{side: options})
    with made.legacy_program() if side == "legacy" else made.modern_program() as program:
        if run:
            program.run(STEPS)
        else:
            for _ in range(STEPS):
                program.step()


def assert_reported_as(reported, case):
    """Asserts that an error is of the case's kind, and names its file and line."""
    assert type(reported) is case.error, reported
    assert re.search(case.says, str(reported)), reported
    assert f"{place_of(case.function)}: " in str(reported)


def cases(group):
    return pytest.mark.parametrize("case", group, ids=[case.name for case in group])


@cases(AT_BUILD)
@pytest.mark.parametrize("side", ["legacy", "modern"])
def test_a_fault_that_shows_before_the_first_step(case, side):
    assert_reported_as(reported_by(lambda: run_side(case.workload, side)), case)


@cases(AT_RUN)
@pytest.mark.parametrize("side", ["legacy", "modern"])
def test_a_fault_that_shows_in_a_step(case, side):
    assert_reported_as(reported_by(lambda: run_side(case.workload, side)), case)


SOME = [case for case in AT_RUN if case.name in ("examples_that_end", "too_few_examples", "numpy_function")]


@cases(SOME)
@pytest.mark.parametrize(
    "side, options",
    [("legacy", {"input": "queue"}), ("legacy", {"input": "dataset"}), ("modern", {"autodiff": "tape"})],
)
def test_a_fault_that_shows_in_a_step_of_another_way(case, side, options):
    assert_reported_as(reported_by(lambda: run_side(case.workload, side, run=False, **options)), case)


@pytest.mark.parametrize("side", ["legacy", "modern"])
def test_the_healthy_workload_runs(side):
    assert reported_by(lambda: run_side(Healthy(), side)) is None


@pytest.mark.parametrize("side, options", [("legacy", {"input": "queue"}), ("legacy", {}), ("modern", {})])
def test_examples_that_end_after_the_last_step_are_enough(side, options):
    steps = set()

    def examples(self, rng, count):
        steps.add(rng.randint(2**30))  # each step's generator draws another number
        if len(steps) > STEPS:
            raise StopIteration
        return Healthy().examples(rng, count)

    workload = workload_with(examples=examples)
    assert reported_by(lambda: run_side(workload, side, **options)) is None
    assert len(steps) >= STEPS


@pytest.mark.parametrize("field, value, says", FIELDS, ids=[f"{field}={value!r}" for field, value, _ in FIELDS])
def test_a_field_of_another_kind_is_refused(field, value, says):
    with pytest.raises(InputError, match=says):
        Job(Healthy(**{field: value}))


def test_fields_of_a_class_that_is_no_dataclass_are_refused():
    with pytest.raises(InputError, match=r"class NoDataclass at .*got global_batch, name without @dataclasses"):
        Job(NoDataclass())


def lift_job():
    workload = registry.get(old_programs.lifted("d_batch_norm"))
    return Job(workload, workload.plan.towers, 4)


@pytest.mark.parametrize("function, error, says", DATA, ids=[function.__name__ for function, _, _ in DATA])
@pytest.mark.parametrize("how", ["shards", "pipeline"])
def test_a_fault_of_a_data_function(function, error, says, how):
    def read():
        source = sources.LiftedOwnData(lift_job(), FunctionData("--data=mine:batches", function))
        if how == "shards" or not source.has_pipeline:
            for step in range(4):
                source.shards(step)
        else:
            list(source.pipeline(0).take(8).as_numpy_iterator())

    reported = reported_by(read)
    assert type(reported) is error and re.search(says, str(reported)), reported
    assert place_of(function) in str(reported)


MODULES = [
    ("x = (\n", UserError, "mine.py:1: importing 'mine' raised SyntaxError: '.' was never closed"),
    ("import os\n\nimport no_such\n", UserError, "mine.py:3: .*ModuleNotFoundError: No module named 'no_such'"),
    ("from workloads import layerz\n", UserError, "mine.py:1: .*cannot import name 'layerz'"),
    ("\nimport sys\nsys.exit(0)\n", UserError, "mine.py:3: .*raised SystemExit: 0"),
    ("X = None\n", InputError, "--workload: got None, expected a workloads.workload.Workload"),
    ("def X():\n    raise KeyError('a')\n", UserError, "mine.py:2: mine:X raised KeyError: 'a'"),
    ("def X(size):\n    pass\n", UserError, "mine.py:1: mine:X raised TypeError: X.. missing 1 required .* 'size'"),
    ("from workloads.workload import Workload\nclass X(Workload): pass\n", UserError, "mine.py:2: .*abstract"),
    ("Y = 1\n", InputError, "module 'mine' has no attribute 'X'"),
]


@pytest.mark.parametrize("text, error, says", MODULES, ids=[text.strip().splitlines()[-1] for text, _, _ in MODULES])
def test_a_module_that_cannot_be_used(text, error, says, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    reported = reported_by(lambda: registry.get("mine:X"))
    assert type(reported) is error and re.search(says, str(reported)), reported
    sys.modules.pop("mine", None)


def workload_flag(name):
    """`--workload` for the case of that name; it is found by the function that makes the workload."""
    return f"--workload=tests.broken_workloads.by_name:{name}"


COMMANDS = [
    ("wrong_key", ("parity.verify",)),
    ("numpy_function", ("modern.train", "--strategy=multi_worker", "--workers=2", "--replicas=1")),
    ("examples_that_raise", ("legacy.train", "--cluster=worker=1;ps=1")),
    ("index_beyond_the_table", ("modern.train", "--strategy=parameter_server")),
    ("fewer_logits_than_classes", ("parity.benchmark",)),
    ("no_classes", ("modern.record", "--out=recording.npz")),
]


@pytest.mark.parametrize(
    "name, arguments",
    [COMMANDS[0], *[pytest.param(*row, marks=pytest.mark.slow) for row in COMMANDS[1:]]],
    ids=[row[1][0] + " " + row[0] for row in COMMANDS],
)
def test_a_command_ends_with_one_line_and_its_status(name, arguments):
    case = next(case for case in AT_BUILD + AT_RUN if case.name == name)
    process = run(*arguments, workload_flag(name))
    assert process.returncode == (command.USER_CODE if case.error is UserError else 2), process.stderr
    refusal = without_progress(process.stderr)
    assert refusal.count("\n") == 1 and refusal.startswith("error: ")
    assert f"{place_of(case.function)}: " in process.stderr


@pytest.mark.slow
def test_the_whole_traceback_is_there_if_it_is_asked_for():
    process = run("modern.train", workload_flag("wrong_key"), "--traceback")
    assert process.returncode == command.USER_CODE
    assert "Traceback (most recent call last)" in process.stderr and "in wrong_key" in process.stderr
    assert process.stderr.splitlines()[-1].startswith("error: tests/broken_workloads/losses.py:")


@pytest.mark.slow
def test_an_older_interpreters_error_is_reported_alike(legacy_python):
    process = run("parity.verify", f"--legacy_python={legacy_python}", workload_flag("wrong_key"))
    refusal = without_progress(process.stderr)
    assert (process.returncode, refusal.count("\n")) == (command.USER_CODE, 1), process.stderr
    assert "KeyError: 'pixles'" in process.stderr
