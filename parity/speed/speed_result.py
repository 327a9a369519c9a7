"""The result of a speed measurement: every program that was to be timed, its blocks, and their ratios."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from parity.comparison.result import Verification
from parity.comparison.setup import Setup
from parity.speed.names import LEGACY, MODERN
from parity.speed.ratio import SpeedRatio, scaled_mad, speed_ratio, speed_verdict


class Throughput(NamedTuple):
    """Examples per second of one program.

    Attributes:
      median: over the blocks.
      relative_mad: scaled median absolute deviation over the median.
    """

    median: float
    relative_mad: float


@dataclasses.dataclass
class Contestant:
    """A program that was to be timed.

    Attributes:
      name: one of `names`, or what another program calls itself.
      input: one of `names.INPUTS`.
      examples: of one step.
      settings: {setting: text}; see `Program.describe`.
      verification: its comparison with legacy; None for legacy itself, and for another program, which shows no tensors.
      note: what a reader must know of it, such as why there is no such program; or "".
      problem: what went wrong, so that it has no speed; or "".
      startup: seconds of the warm-up steps.
      steps: steps of a block.
      seconds: of its blocks; empty if it was not timed.
    """

    name: str
    input: str
    examples: float
    settings: dict[str, str] = dataclasses.field(default_factory=dict)
    verification: Verification | None = None
    note: str = ""
    problem: str = ""
    startup: float = 0.0
    steps: int = 0
    seconds: list[float] = dataclasses.field(default_factory=list)

    def throughput(self) -> Throughput:
        """Returns the examples per second."""
        rates = self.examples * self.steps / np.asarray(self.seconds)
        median = float(np.median(rates))
        return Throughput(median, scaled_mad(rates) / median)

    def seconds_per_example(self) -> list[float]:
        """Returns the seconds of one example in each block."""
        return [seconds / (self.steps * self.examples) for seconds in self.seconds]


@dataclasses.dataclass
class SpeedResult:
    """The result of a speed measurement. Without parity of legacy and the port nothing is timed.

    Attributes:
      setups: {input: the job on both sides, with legacy's input that was chosen}; the first one is the main one.
      contestants: all programs, each side's first.
      input_trials: {legacy input: seconds per step}; empty if none was tried.
      partial: the timing was ended before it had all its blocks.
    """

    setups: dict[str, Setup]
    contestants: list[Contestant]
    input_trials: dict[str, float] = dataclasses.field(default_factory=dict)
    partial: bool = False

    @property
    def setup(self) -> Setup:
        """The job, with the first input."""
        return next(iter(self.setups.values()))

    @property
    def verification(self) -> Verification:
        """The comparison of legacy and the port: the first that failed, or that of the first input."""
        found = [port.verification for port in self.contestants if port.name == MODERN]
        given = [verification for verification in found if verification is not None]
        return next((verification for verification in given if not verification.passed), given[0])

    @property
    def has_parity(self) -> bool:
        """Whether legacy and the port are equal with every input, so that there are speeds."""
        return self.verification.passed

    def contestant(self, name: str, input_name: str) -> Contestant | None:
        """Returns the program of that name and input that was timed, or None."""
        for contestant in self.contestants:
            if (contestant.name, contestant.input) == (name, input_name) and contestant.seconds:
                return contestant
        return None

    def ratio_to(self, name: str, contestant: Contestant) -> SpeedRatio | None:
        """Returns a program's speed relative to that of the program `name` with the same input; None without both."""
        other = self.contestant(name, contestant.input)
        if other is None or not contestant.seconds:
            return None
        return speed_ratio(other.seconds_per_example(), contestant.seconds_per_example())

    def port_to_legacy(self, input_name: str) -> SpeedRatio | None:
        """Returns the port's speed relative to legacy's with one input; None without parity."""
        port = self.contestant(MODERN, input_name)
        return None if port is None else self.ratio_to(LEGACY, port)

    def verdict(self, input_name: str) -> str:
        """Returns the verdict on that ratio; see `speed_verdict`; "no parity" without parity."""
        ratio = self.port_to_legacy(input_name)
        return "no parity" if ratio is None else speed_verdict(ratio)
