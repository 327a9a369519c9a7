"""Search for the fastest settings: one knob after the other, each value timed beside the best so far."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from parity.speed.ratio import SpeedRatio, ratio_json, speed_ratio
from parity.speed.timing import Block, Progress, Runner, block_steps, time_rounds
from parity.tuning.settings import Knob, Settings
from parity.tuning.tuned_process import Answer
from workloads.support.errors import Lost


class Tuned(Runner, Protocol):
    """A port under some settings; see `tuned_process.TunedProcess`."""

    def compare(self) -> Answer:
        """Compares it with the towers."""

    def close(self) -> None:
        """Ends it."""


@dataclasses.dataclass(frozen=True)
class SearchPlan:
    """Extent of a search.

    Attributes:
      rounds: number of timed rounds of each knob; even.
      last_rounds: number of rounds in which the result is timed beside the defaults; even.
      seconds: length of a timed block, about.
    """

    rounds: int = 10
    last_rounds: int = 20
    seconds: float = 0.25


class Trial(NamedTuple):
    """A value of a knob that was tried.

    Attributes:
      knob: its name.
      settings: the whole settings.
      verdict: of the comparison with the towers.
      gain: speed over the best settings before it; None if the port is not equal, or cannot run.
      kept: whether it became the best.
    """

    knob: str
    settings: Settings
    verdict: str
    gain: SpeedRatio | None
    kept: bool

    def to_json(self) -> dict[str, Any]:
        """Returns the trial for `--json`."""
        return {**self._asdict(), "settings": dataclasses.asdict(self.settings), "gain": ratio_json(self.gain)}


class SearchResult(NamedTuple):
    """The result of a search.

    Attributes:
      trials: all values that were tried, in order.
      best: the best settings; equal to `Settings()` if no value was faster.
      gain: speed of the best settings over the defaults, timed anew; None if they are the defaults.
    """

    trials: list[Trial]
    best: Settings
    gain: SpeedRatio | None

    def to_json(self) -> dict[str, Any]:
        """Returns the result for `--json`."""
        settings = {**dataclasses.asdict(self.best), "command_line": self.best.command_line()}
        return {"trials": [trial.to_json() for trial in self.trials], "best": settings, "gain": ratio_json(self.gain)}


def search_settings(
    knobs: Iterable[Knob], start: Callable[[Settings], Tuned], plan: SearchPlan, progress: Progress
) -> SearchResult:
    """Tries the knobs one after the other; the fastest value of each is kept if it is faster beyond doubt.

    A value was chosen for its measured gain, which flatters it; so the result's gain is measured anew.

    Args:
      knobs: in the order in which they are tried.
      start: starts the port under settings.
      plan: extent of the search.
      progress: called with (text, number done, number in all).

    Returns:
      the result.
    """
    best, trials, knobs = Settings(), list[Trial](), list(knobs)
    for number, knob in enumerate(knobs):
        progress(knob.name, number, len(knobs) + 1)
        if knob.values:
            tried = _try_values(knob, best, start, plan)
            trials += tried
            best = next((trial.settings for trial in tried if trial.kept), best)
    gain = None
    if best != Settings():
        progress("the best settings beside the defaults", len(knobs), len(knobs) + 1)
        ((_, gain),) = _gains(Settings(), [best], start, plan.last_rounds, plan.seconds)
    return SearchResult(trials, best, gain)


def _try_values(knob: Knob, best: Settings, start: Callable[[Settings], Tuned], plan: SearchPlan) -> list[Trial]:
    """Trials of the values of one setting; at most one of them is adopted."""
    candidates = [best.join(value) for value in knob.values]
    measured = _gains(best, candidates, start, plan.rounds, plan.seconds)
    faster = [gain.median for _, gain in measured if gain is not None and gain.low > 1]
    return [
        Trial(
            knob.name, settings, answer.verdict, gain, gain is not None and gain.low > 1 and gain.median == max(faster)
        )
        for settings, (answer, gain) in zip(candidates, measured)
    ]


def _gains(
    before: Settings, candidates: Sequence[Settings], start: Callable[[Settings], Tuned], rounds: int, seconds: float
) -> list[tuple[Answer, SpeedRatio | None]]:
    """Times settings beside others in the same rounds.

    Args:
      before: the settings that the others are compared with.
      candidates: the others.
      start: starts the port under settings.
      rounds: number of rounds.
      seconds: length of a block, about.

    Returns:
      [(answer, speed over that of `before`, None if it is not equal to the towers)].

    Raises:
      Lost: `before` is not equal to the towers.
    """
    with contextlib.ExitStack() as stack:
        processes = []
        for settings in (before, *candidates):
            processes.append(stack.enter_context(contextlib.closing(start(settings))))
        answers = [process.compare() for process in processes]
        if not answers[0].passed:
            raise Lost(answers[0].verdict)
        runners = [process for process, answer in zip(processes, answers) if answer.passed]
        steps = block_steps(runners[0], 1, seconds)
        times = time_rounds([Block(runner, steps) for runner in runners], rounds)
    of_runner = iter(times.seconds[1:])
    return [
        (answer, speed_ratio(times.seconds[0], next(of_runner)) if answer.passed else None) for answer in answers[1:]
    ]
