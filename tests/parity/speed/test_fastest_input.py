"""Choice of the towers' input, with programs on a clock of their own."""

import contextlib
import dataclasses

import pytest

from parity.speed.fastest_input import choose_fastest_input, setup_with_input
from parity.speed.names import LEGACY_INPUTS
from tests.parity.speed.fakes import Clock, MadeUpSetup

SECONDS = {"feed": 0.5, "split": 0.25, "queue": 0.125, "dataset": 1.0}


@pytest.fixture
def setup(monkeypatch):
    clock = Clock()
    clock.replace_real_one(monkeypatch)
    return MadeUpSetup(clock, SECONDS)


def test_the_fastest_input_is_taken_and_all_are_reported(setup):
    with contextlib.ExitStack() as stack:
        chosen = choose_fastest_input(stack, setup, lambda *_: None)
    assert chosen.trials == SECONDS
    assert chosen.setup == setup_with_input(setup, "queue")


def test_only_the_fastest_program_stays_open(setup):
    log = []
    with contextlib.ExitStack() as stack:
        chosen = choose_fastest_input(stack, dataclasses.replace(setup, log=log), lambda *_: None)
        closed = [line for line in log if line.startswith("closed")]
        assert closed == ["closed legacy, feed", "closed legacy, split", "closed legacy, dataset"]
        assert chosen.program.describe() == {"name": "legacy, queue"}
    assert log[-1] == "closed legacy, queue"


def test_the_first_of_equal_inputs_is_taken(setup):
    equal = MadeUpSetup(setup.clock, dict.fromkeys(LEGACY_INPUTS, 0.5))
    assert choose_fastest_input(contextlib.ExitStack(), equal, lambda *_: None).setup.legacy.input == "feed"


def test_progress_names_each_input(setup):
    shown = []
    choose_fastest_input(contextlib.ExitStack(), setup, lambda *line: shown.append(line))
    assert shown == [(f"legacy's input: {name}", number, 4) for number, name in enumerate(LEGACY_INPUTS)]


def test_only_the_input_is_changed(setup):
    changed = setup_with_input(setup, "dataset")
    assert (changed.legacy.input, setup.legacy.input) == ("dataset", "feed")
    assert dataclasses.replace(changed, legacy=setup.legacy) == setup


def test_only_the_given_inputs_are_tried(setup):
    chosen = choose_fastest_input(contextlib.ExitStack(), setup, lambda *_: None, ("feed", "dataset"))
    assert chosen.trials == {"feed": 0.5, "dataset": 1.0} and chosen.setup.legacy.input == "feed"
