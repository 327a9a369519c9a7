"""The port on one device with all cores, in a process of its own; in that of the replicas, the cores are divided.

Which is faster depends on the net: small ops gain nothing by a second core. The faster is timed.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from parity.comparison.setup import Setup
from parity.speed import timing
from parity.speed.fastest_input import trial_seconds
from parity.speed.one_device import one_device_program, reason_against
from workloads.program import Program
from workloads.support.errors import InputError, Lost
from workloads.support.machine import threads
from workloads.support.processes.child_processes import Child, Speaker
from workloads.support.wording import counted


def needs_own_process(setup: Setup) -> bool:
    """Whether the replicas' process leaves a program on one device fewer cores than there are."""
    return not reason_against(setup) and 0 < setup.threads_within_ops() < threads.cores()


class OneDeviceProcess:
    """Process that holds the ports on one device, each with its own input, and takes steps with one at a time."""

    def __init__(self) -> None:
        self._child = Child("the port on one device", serve_programs)
        self._programs = 0

    def start(self, setup: Setup, in_parts: bool) -> RemoteProgram:
        """Begins to make a program; see `one_device.one_device_program` for the arguments."""
        self._child.send((_make, (setup, in_parts)))
        self._programs += 1
        return RemoteProgram(self, self._programs - 1)

    def call(self, *message: Any) -> None:
        """Sends (function, arguments), and waits until it is done.

        Raises:
          RunnerFailed: the process failed, now or when it made a program.
        """
        try:
            self._child.send(message)
            self._child.receive()
        except (InputError, Lost) as error:
            raise timing.RunnerFailed(str(error)) from error

    def close_programs(self) -> None:
        """Closes all programs; the process stays for others."""
        self._programs = 0
        with contextlib.suppress(Lost):  # then there are none
            self._child.send((_close, ()))


@functools.lru_cache(maxsize=1)
def own_process() -> OneDeviceProcess:
    """Returns the process, which serves one measurement after another and ends with this one."""
    return OneDeviceProcess()


class RemoteProgram:
    """A program of the process, as a `timing.Runner`.

    Args:
      process: that holds it.
      number: of the program there, from 0.
    """

    def __init__(self, process: OneDeviceProcess, number: int) -> None:
        self._process, self._number = process, number

    def run(self, steps: int) -> None:
        """Takes `steps` steps; their last loss has been read when it returns.

        Raises:
          RunnerFailed: the process failed.
        """
        self._process.call(_run, (self._number, steps))

    def rest(self) -> None:
        """Waits until the threads of the process, which may be reading ahead, are nearly idle."""
        self._process.call(_rest, ())


class FasterProgram:
    """The faster of two programs, as a `timing.Runner`.

    Args:
      here: in the process of the replicas, with their share of the cores for each op.
      there: in the process where each op has all cores.
      share: number of cores that each op has here.
    """

    def __init__(self, here: Program, there: RemoteProgram, share: int) -> None:
        self._programs: dict[str, Program | RemoteProgram] = {
            counted(share, "core") + " an op": here,
            "all cores": there,
        }
        self._chosen: Program | RemoteProgram = here

    def choose(self) -> str:
        """Tries both and keeps the faster; returns how many cores its ops have, in words.

        Raises:
          RunnerFailed: the other process failed.
        """
        seconds = {name: trial_seconds(program) for name, program in self._programs.items()}
        fastest = min(seconds, key=lambda name: seconds[name])
        self._chosen = self._programs[fastest]
        return fastest

    def run(self, steps: int) -> None:
        """Takes `steps` steps with the chosen program; their last loss has been read when it returns.

        Raises:
          RunnerFailed: the other process failed.
        """
        self._chosen.run(steps)

    def rest(self) -> None:
        """Waits until nothing is read ahead for it in the other process."""
        if isinstance(self._chosen, RemoteProgram):
            self._chosen.rest()


class _Programs:
    """The programs of the process, and what tells the other process that something is done."""

    def __init__(self, speaker: Speaker, stack: contextlib.ExitStack) -> None:
        self.speaker, self.stack = speaker, stack
        self.all: list[Program] = []


def serve_programs(speaker: Speaker) -> None:
    """Runs in the process: makes programs, and takes steps with them when asked."""
    with contextlib.ExitStack() as stack:
        programs = _Programs(speaker, stack)
        for function, arguments in iter(speaker.listen, None):
            function(programs, *arguments)


def _make(programs: _Programs, setup: Setup, in_parts: bool) -> None:
    programs.all.append(programs.stack.enter_context(one_device_program(setup, in_parts)))


def _close(programs: _Programs) -> None:
    programs.stack.close()
    programs.all.clear()


def _run(programs: _Programs, number: int, steps: int) -> None:
    programs.all[number].run(steps)
    programs.speaker.say(None)


def _rest(programs: _Programs) -> None:
    timing.wait_for_rest()
    programs.speaker.say(None)
