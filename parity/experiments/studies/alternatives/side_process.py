"""Programs in processes of their own, which take turns: one alternative's threads and memory are no other's burden."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from parity.comparison.setup import Setup
from parity.speed import timing
from parity.speed.names import LEGACY
from workloads.program import Program
from workloads.support.processes.child_processes import Child, Speaker


class Alternative(NamedTuple):
    """One way to run a job.

    Attributes:
      name: of its row in a table.
      side: "legacy" or "modern".
      setup: the job and its options.
      streamed: whether batches are read ahead while others are timed.
      variables: ((environment variable, text), ...) of its process.
    """

    name: str
    side: str
    setup: Setup
    streamed: bool = False
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def steps_per_call(self) -> int:
        """Steps that it takes in one call."""
        return 1 if self.side == LEGACY else self.setup.modern.steps_per_call

    def make_program(self) -> Program:
        """Makes the program of its side."""
        return self.setup.legacy_program() if self.side == LEGACY else self.setup.modern_program()


class SideProcess:
    """A process that holds one program after another, as a `timing.Runner` of the one that is open.

    Args:
      name: in messages.
      variables: {environment variable: text} of the process.
    """

    def __init__(self, name: str, variables: Mapping[str, str] | None = None) -> None:
        self._child = Child(name, serve_program, variables=variables)

    def start_opening(self, alternative: Alternative, warm_up: int) -> None:
        """Closes the open program, and begins to make another one and to take `warm_up` steps with it."""
        self._child.send((_open, (alternative, warm_up)))

    def finish_opening(self) -> None:
        """Waits until the program is open.

        Raises:
          Lost: the process failed.
          InputError: the program cannot be made.
        """
        self._child.receive()

    def run(self, steps: int) -> None:
        """Takes `steps` steps; their last loss has been read when it returns."""
        self.observe(_run, steps)

    def rest(self) -> None:
        """Waits until the threads of the process, which may be reading ahead, are nearly idle."""
        self.observe(_rest)

    def observe(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Returns `function(program, *arguments)`, computed in the process; all must be picklable."""
        self._child.send((_call, (function, arguments)))
        return self._child.receive()

    def close(self) -> None:
        """Ends the process."""
        self._child.kill()

    def __enter__(self) -> SideProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Stage:
    """The open program of a process."""

    def __init__(self) -> None:
        self.stack = contextlib.ExitStack()
        self.program: Program | None = None


def serve_program(speaker: Speaker) -> None:
    """Runs in the process: does the work that it is sent, and answers with the result."""
    stage = Stage()
    for work, arguments in iter(speaker.listen, None):
        speaker.say(work(stage, *arguments))


def _open(stage: Stage, alternative: Alternative, warm_up: int) -> None:
    stage.stack.close()
    stage.program = stage.stack.enter_context(alternative.make_program())
    if warm_up:
        stage.program.run(warm_up)


def _call(stage: Stage, function: Callable[..., Any], arguments: Sequence[object]) -> Any:
    return function(stage.program, *arguments)


def _run(program: Program, steps: int) -> None:
    program.run(steps)


def _rest(program: Program) -> None:
    timing.wait_for_rest()
