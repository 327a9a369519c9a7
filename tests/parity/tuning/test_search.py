"""The search, on processes that take made-up times."""

import pytest

from parity.tuning.search import SearchPlan, search_settings
from parity.tuning.settings import Knob, Settings
from parity.tuning.tuned_process import Answer
from tests.parity.speed.fakes import Clock
from workloads.support.errors import Lost

A, B, C = (Settings(((name, True),)) for name in "abc")
PLAN = SearchPlan(rounds=4, last_rounds=6, seconds=1.0)


class Port:
    """A port whose step takes the product of its settings' factors in seconds; "b" is not equal to the towers."""

    def __init__(self, clock, factors, settings):
        self.clock, self.settings, self.open = clock, settings, True
        self.seconds = 0.01
        for name, _ in settings.options:
            self.seconds *= factors[name]

    def compare(self):
        equal = "b" not in dict(self.settings.options)
        return Answer(equal, "PARITY" if equal else "NO PARITY: first at step 0")

    def run(self, steps):
        assert self.open and self.compare().passed
        self.clock.now += steps * self.seconds

    def close(self):
        self.open = False


@pytest.fixture
def search(monkeypatch):
    """Function that searches knobs, and remembers the ports that were started."""
    clock, ports, shown = Clock(), [], []
    clock.replace_real_one(monkeypatch)

    def run(knobs, **factors):
        def start(settings):
            ports.append(Port(clock, factors, settings))
            return ports[-1]

        return search_settings(knobs, start, PLAN, lambda *line: shown.append(line))

    run.ports, run.shown = ports, shown
    return run


def test_what_is_faster_is_kept_and_what_follows_is_timed_beside_it(search):
    result = search([Knob("first", [A]), Knob("second", [C])], a=0.5, c=2.0)
    assert [(trial.knob, trial.kept, round(trial.gain.median, 9)) for trial in result.trials] == [
        ("first", True, 2.0),
        ("second", False, 0.5),
    ]
    assert result.trials[1].settings == A.join(C) and result.best == A
    assert result.gain.median == pytest.approx(2.0) == result.gain.low


def test_the_fastest_value_of_a_knob_is_kept(search):
    result = search([Knob("one", [A, C])], a=0.5, c=0.25)
    assert [trial.kept for trial in result.trials] == [False, True] and result.best == C


def test_what_is_not_equal_is_neither_timed_nor_kept(search):
    result = search([Knob("one", [B])], b=0.1)
    (trial,) = result.trials
    assert (trial.gain, trial.kept, trial.verdict) == (None, False, "NO PARITY: first at step 0")
    assert result.best == Settings() and result.gain is None


def test_the_same_speed_is_no_gain(search):
    result = search([Knob("one", [A])], a=1.0)
    assert not result.trials[0].kept and result.gain is None


def test_every_port_is_closed(search):
    search([Knob("one", [A, B]), Knob("empty", [])], a=0.5, b=1.0)
    assert len(search.ports) == 3 + 2 and not any(port.open for port in search.ports)
    assert search.shown == [("one", 0, 3), ("empty", 1, 3), ("the best settings beside the defaults", 2, 3)]


def test_defaults_that_are_not_equal_end_the_search(search):
    with pytest.raises(Lost, match="NO PARITY: first at step 0"):
        search_settings([Knob("one", [A])], lambda settings: Port(Clock(), {"b": 1.0, "a": 1.0}, B), PLAN, print)


def test_json_has_the_flags_to_repeat(search):
    entry = search([Knob("one", [A])], a=0.5).to_json()
    assert entry["best"]["command_line"] == "... --a=true" and entry["gain"]["median"] == pytest.approx(2.0)
    assert entry["trials"][0]["kept"] is True and entry["trials"][0]["settings"]["options"] == (("a", True),)
