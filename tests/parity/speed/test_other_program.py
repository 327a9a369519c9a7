"""Programs of `--others`: what they say of themselves, and how they fail."""

import contextlib

import pytest

from parity.processes import line_process
from parity.speed.names import RESIDENT, STREAMED
from parity.speed.other_program import enter_others
from parity.speed.timing import RunnerFailed
from tests.cases import Dyadic, setup
from tests.parity.speed.scripts import good, script
from workloads.support.errors import InputError

BOTH = (RESIDENT, STREAMED)


@pytest.fixture
def enter(tmp_path, monkeypatch):
    """Enters programs of the given texts; they are ended afterwards."""
    monkeypatch.setattr(line_process, "GRACE", 0.5)
    with contextlib.ExitStack() as stack:

        def enter(*texts, inputs=(RESIDENT,), seconds=30.0):
            paths = [script(tmp_path, text, f"{number}.py") for number, text in enumerate(texts)]
            return enter_others(stack, paths, dict.fromkeys(inputs, setup(Dyadic())), "small", seconds)

        yield enter


def test_a_program_is_entered_as_it_describes_itself(enter):
    (entrant,) = enter(good())
    about = entrant.contestant
    assert (about.name, about.input, about.examples, about.verification) == ("mine", RESIDENT, 64, None)
    entrant.runner.run(3)


def test_without_more_it_is_resident_only(enter):
    assert [entrant.contestant.input for entrant in enter(good(), inputs=BOTH)] == [RESIDENT]


def test_a_program_that_reads_its_environment_has_both_inputs(enter):
    text = good(', "input": "%s"').replace("}', flush", "}' % os.environ['TOWER_PARITY_INPUT'], flush")
    assert [entrant.contestant.input for entrant in enter(text, inputs=BOTH)] == [RESIDENT, STREAMED]


def test_the_job_stands_in_the_environment(enter):
    names = "WORKLOAD SIZE GLOBAL_BATCH REPLICAS INPUT"
    shown = f"','.join(os.environ['TOWER_PARITY_' + name] for name in '{names}'.split())"
    text = good().replace('\'{"name": "mine"', '\'{"name": "\' + ' + shown + " + '\"")
    assert enter(text)[0].contestant.name == "dyadic,small,8,2,resident"


def test_a_program_for_another_workload_is_not_timed(enter):
    (entrant,) = enter(good(', "workload": "other"'))
    assert entrant.runner is None and entrant.contestant.note == "is for other"
    (entrant,) = enter(good(', "workload": "dyadic"'))
    assert entrant.runner is not None


HELLO = "input()\nprint(%r, flush=True)\ninput()"


@pytest.mark.parametrize(
    "text, message",
    [
        ("raise SystemExit(3)", "ended with status 3"),
        (HELLO % "hi", "answered 'hi' to hello, must be one line of JSON: "),
        (HELLO % "[1]", "must be one line of JSON"),
        (HELLO % ('{"name": "' + "x" * 200), "xxx…' to hello, must be one line"),
        (HELLO % '{"examples_per_step": 1}', 'with "name"'),
        (HELLO % '{"name": "", "examples_per_step": 1}', 'with "name"'),
        (HELLO % '{"name": "a"}', 'with "examples_per_step" above 0'),
        (HELLO % '{"name": "a", "examples_per_step": 0}', 'with "examples_per_step" above 0'),
        (HELLO % '{"name": "a", "examples_per_step": true}', 'with "examples_per_step" above 0'),
        (HELLO % '{"name": "a", "examples_per_step": NaN}', 'with "examples_per_step" above 0'),
        (HELLO % '{"name": "a", "examples_per_step": 1, "input": 3}', 'with "input": resident or streamed'),
        (HELLO % '{"name": "a", "examples_per_step": 1, "workload": 3}', 'with "workload": text'),
        (HELLO % '{"name": "a", "examples_per_step": 1, "input": "streamed"}', "--inputs has resident"),
        (HELLO % '{"name": "legacy", "examples_per_step": 1}', "--others: got 'legacy', the name of two programs"),
    ],
)
def test_nonsense_is_refused_in_one_line_that_names_the_program(text, message, enter):
    with pytest.raises(InputError) as error:
        enter(text)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert ("0.py" in str(error.value)) is ("two programs" not in message)


def test_silence_is_refused(enter):
    with pytest.raises(InputError, match="0.py', did not answer within 0.2 s"):
        enter("import time\ntime.sleep(60)", seconds=0.2)


def test_two_programs_need_two_names(enter):
    with pytest.raises(InputError, match="--others: got 'mine', the name of two programs"):
        enter(good(), good())


@pytest.mark.parametrize(
    "then, message",
    [("print('ready', flush=True)", "answered 'ready' to run 3, must be done"), ("raise SystemExit(4)", "status 4")],
)
def test_a_program_that_fails_while_it_runs_is_ended(then, message, enter):
    (entrant,) = enter(good().replace('print("done", flush=True)', then))
    with pytest.raises(RunnerFailed, match=message):
        entrant.runner.run(3)
    assert entrant.runner._process._process.returncode is not None
