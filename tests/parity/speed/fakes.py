"""A clock, programs and setups that are made up: time passes only when a program runs."""

import contextlib
import dataclasses

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.speed import timing
from workloads.job import Job
from workloads.selection import registry


class Clock:
    """Seconds that pass when `now` is changed."""

    def __init__(self):
        self.now = 0.0

    def replace_real_one(self, monkeypatch):
        """Makes `timing` read this clock."""
        monkeypatch.setattr(timing.time, "perf_counter", lambda: self.now)


class TimedProgram:
    """Takes a fixed time per step on a made-up clock.

    Args:
      clock: the `Clock`.
      seconds: per step.
      log: list that `name` is added to at each run.
      name: of the program.
      traces_of_run: number of traces that each run adds.
    """

    def __init__(self, clock, seconds, log=None, name="", traces_of_run=0):
        self._clock, self._seconds, self._log, self._name = clock, seconds, log, name
        self._traces_of_run, self._traces = traces_of_run, 1

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self._log is not None:
            self._log.append("closed " + self._name)

    def run(self, steps):
        self._clock.now += steps * self._seconds
        self._traces += self._traces_of_run
        if self._log is not None:
            self._log.append(self._name)

    def state(self):
        return self._traces

    def load(self, state):
        self._traces = state

    def traces(self):
        return self._traces

    def describe(self):
        return {"name": self._name}


class FailingProgram(TimedProgram):
    """A program that fails after some runs."""

    def __init__(self, clock, seconds, after):
        super().__init__(clock, seconds)
        self._left = after

    def run(self, steps):
        if not self._left:
            raise timing.RunnerFailed("died")
        self._left -= 1
        super().run(steps)


@dataclasses.dataclass(frozen=True)
class MadeUpSetup:
    """Stands for a `Setup`; the towers' time per step depends on their input.

    Attributes:
      clock: of the programs.
      seconds: {legacy input: seconds per step}.
      modern_seconds: per step of the port.
      traces_of_run: of the port.
      log: see `TimedProgram`; of the towers.
      threads: cores of each op; 0: all.
    """

    clock: Clock
    seconds: dict
    modern_seconds: float = 1.0
    traces_of_run: int = 0
    log: list | None = None
    legacy: LegacyOptions = LegacyOptions(input="feed")
    threads: int = 0
    modern: ModernOptions = ModernOptions(steps_per_call=10)
    job: Job = Job(registry.get("regression", "small"), 2)
    parameter_servers: int = 0

    def legacy_program(self):
        return TimedProgram(self.clock, self.seconds[self.legacy.input], self.log, "legacy, " + self.legacy.input)

    def modern_program(self):
        return TimedProgram(self.clock, self.modern_seconds, name="modern", traces_of_run=self.traces_of_run)

    def closing_references(self):
        return contextlib.nullcontext("references")

    def threads_within_ops(self):
        return self.threads
