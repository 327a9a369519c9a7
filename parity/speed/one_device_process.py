"""A process in which the port on one device has all cores; in that of the replicas, the cores are divided."""

from __future__ import annotations

import contextlib
from typing import Any

from parity.comparison.setup import Setup
from parity.speed import timing
from parity.speed.one_device import one_device_program, reason_against
from workloads.program import Program
from workloads.support.errors import InputError, Lost
from workloads.support.machine import threads
from workloads.support.processes.child_processes import Child, Speaker


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

    def close(self) -> None:
        """Ends the process."""
        self._child.kill()


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


def _run(programs: _Programs, number: int, steps: int) -> None:
    programs.all[number].run(steps)
    programs.speaker.say(None)


def _rest(programs: _Programs) -> None:
    timing.wait_for_rest()
    programs.speaker.say(None)
