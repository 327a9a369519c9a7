"""Choice of the towers' input, with programs on a clock of their own."""

import dataclasses

import pytest

from parity.speed.fastest_input import CANDIDATES, choose_fastest_input, setup_with_input
from tests.parity.speed.fakes import Clock, MadeUpSetup

SECONDS = {"feed": 0.5, "split": 0.25, "queue": 0.125, "dataset": 1.0}


@pytest.fixture
def setup(monkeypatch):
    clock = Clock()
    clock.replace_real_one(monkeypatch)
    return MadeUpSetup(clock, SECONDS)


def test_the_fastest_input_is_taken_and_all_are_reported(setup):
    chosen, trials = choose_fastest_input(setup, lambda *_: None, steps=4)
    assert trials == SECONDS
    assert chosen == setup_with_input(setup, "queue")


def test_the_first_of_equal_inputs_is_taken(setup):
    equal = MadeUpSetup(setup.clock, dict.fromkeys(CANDIDATES, 0.5))
    chosen, _ = choose_fastest_input(equal, lambda *_: None, steps=4)
    assert chosen.legacy.input == "feed"


def test_progress_names_each_input(setup):
    shown = []
    choose_fastest_input(setup, lambda *line: shown.append(line), steps=1)
    assert shown == [(f"legacy's input: {name}", number, 4) for number, name in enumerate(CANDIDATES)]


def test_only_the_input_is_changed(setup):
    changed = setup_with_input(setup, "dataset")
    assert (changed.legacy.input, setup.legacy.input) == ("dataset", "feed")
    assert dataclasses.replace(changed, legacy=setup.legacy) == setup
