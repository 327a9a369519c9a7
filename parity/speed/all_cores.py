"""The port on one device with all cores, in a process of its own; in that of the replicas, the cores are divided.

Which is faster depends on the net: small ops gain nothing by a second core. The faster is timed.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

from parity.comparison.setup import Setup
from parity.speed.fastest_input import WARMUP, trial_seconds
from parity.speed.one_device import reason_against
from parity.speed.program_process import ProgramProcess, RemoteProgram
from parity.speed.timing import Runner, RunnerFailed
from workloads.program import Program
from workloads.support.errors import InputError, Lost
from workloads.support.machine import threads
from workloads.support.wording import counted


def needs_own_process(setup: Setup) -> bool:
    """Whether the replicas' process leaves a program on one device fewer cores than there are."""
    return not reason_against(setup) and 0 < setup.threads_within_ops() < threads.cores()


@functools.lru_cache(maxsize=1)
def own_process() -> ProgramProcess:
    """Returns the process, which serves one measurement after another and ends with this one."""
    return ProgramProcess("the port on one device")


class FasterProgram:
    """The faster of two programs, as a `timing.Runner`.

    Args:
      here: in the process of the replicas, with their share of the cores for each op.
      there: in the process where each op has all cores.
      share: number of cores that each op has here.
    """

    def __init__(self, here: Program, there: RemoteProgram, share: int) -> None:
        self._here, self._there, self._share = here, _AllCores(there), share
        self._chosen: Runner = here

    def choose(self) -> str:
        """Tries both and keeps the faster; returns how many cores its ops have, in words.

        Raises:
          RunnerFailed: the other process failed.
        """
        for program in (self._there, self._here):
            program.run(WARMUP)
        if trial_seconds(self._there) < trial_seconds(self._here):
            self._chosen = self._there
            return "all cores"
        self._chosen = self._here
        return counted(self._share, "core") + " an op"

    def run(self, steps: int) -> None:
        """Takes `steps` steps with the chosen program; their last loss has been read when it returns.

        Raises:
          RunnerFailed: the other process failed.
        """
        self._chosen.run(steps)

    def rest(self) -> None:
        """Waits until nothing is read ahead for it in the other process."""
        if self._chosen is self._there:
            self._there.rest()


class _AllCores:
    """The program in the other process. If it fails, the other programs are timed without it."""

    def __init__(self, program: RemoteProgram) -> None:
        self._program = program

    def run(self, steps: int) -> None:
        with _runner_failures():
            self._program.run(steps)

    def rest(self) -> None:
        with _runner_failures():
            self._program.rest()


@contextlib.contextmanager
def _runner_failures() -> Iterator[None]:
    """Raises `RunnerFailed` for the failure of a process."""
    try:
        yield
    except (InputError, Lost) as error:
        raise RunnerFailed(str(error)) from error
