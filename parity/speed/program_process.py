"""A process that holds programs and takes steps with them when asked: their threads and memory burden no other process.

The parent sends work, and the process answers every piece of work in order. Making a program is not waited for: its
answer is read before the next work is asked of the process, so that several processes can make their programs at the
same time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from parity.speed import timing
from workloads.support.errors import Lost
from workloads.support.processes.child_processes import Child
from workloads.support.processes.child_side import Speaker

#: Makes a program, which is closed by leaving the context.
MakeProgram = Callable[..., contextlib.AbstractContextManager[timing.Runner]]


class ProgramProcess:
    """Process that holds programs. Each has a number, which no later program gets.

    `ask` and `finish`, and the methods of its programs, raise `Lost` if the process failed, or the `InputError` or
    `UserError` that it failed by.

    Args:
      name: in messages.
      variables: {environment variable: text} of the process.
    """

    def __init__(self, name: str, variables: Mapping[str, str] | None = None) -> None:
        self._child = Child(name, serve_programs, variables=variables)
        self._made = self._unanswered = 0

    def start(self, make: MakeProgram, *arguments: object) -> RemoteProgram:
        """Begins to make the program `make(*arguments)` in the process; all must be picklable.

        A failure is raised by the program, when it is first waited for or asked.
        """
        with contextlib.suppress(Lost):
            self._send(_make, self._made, make, arguments)
        self._made += 1
        return RemoteProgram(self, self._made - 1)

    def close_programs(self) -> None:
        """Closes all programs; the process stays for others."""
        with contextlib.suppress(Lost):  # a process that ended has no programs
            self._send(_close)

    def ask(self, work: Callable[..., Any], *arguments: object) -> Any:
        """Returns `work(programs, *arguments)`, computed in the process after all that was asked before."""
        self.finish()
        self._send(work, *arguments)
        return self._answer()

    def finish(self) -> None:
        """Waits until everything that was asked of the process is done."""
        while self._unanswered:
            self._answer()

    def close(self) -> None:
        """Ends the process."""
        self._child.kill()

    def __enter__(self) -> ProgramProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _send(self, work: Callable[..., Any], *arguments: object) -> None:
        self._unanswered += 1  # one that cannot be sent is answered by the end of the process
        self._child.send((work, arguments))

    def _answer(self) -> Any:
        self._unanswered -= 1
        return self._child.receive()


class RemoteProgram:
    """A program in a process of its own, as a `timing.Runner`.

    Args:
      process: that holds it.
      number: of the program there.
    """

    def __init__(self, process: ProgramProcess, number: int) -> None:
        self._process, self._number = process, number

    def wait_until_made(self) -> None:
        """Waits until the program is made."""
        self._process.finish()

    def run(self, steps: int) -> None:
        """Takes `steps` steps; their last loss has been read when it returns."""
        self.observe(_run, steps)

    def rest(self) -> None:
        """Waits until the threads of the process, which may be reading ahead, are nearly idle."""
        self._process.ask(_rest)

    def observe(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Returns `function(program, *arguments)`, computed in the process; all must be picklable."""
        return self._process.ask(_call, self._number, function, arguments)


class Programs:
    """The open programs of the process, by number."""

    def __init__(self) -> None:
        self.stack = contextlib.ExitStack()
        self.numbered: dict[int, timing.Runner] = {}


def serve_programs(speaker: Speaker) -> None:
    """Runs in the process: does the work that it is sent, and answers with the result."""
    programs = Programs()
    with programs.stack:
        for work, arguments in iter(speaker.listen, None):
            speaker.say(work(programs, *arguments))


def _make(programs: Programs, number: int, make: MakeProgram, arguments: Sequence[object]) -> None:
    programs.numbered[number] = programs.stack.enter_context(make(*arguments))


def _close(programs: Programs) -> None:
    programs.stack.close()
    programs.numbered.clear()


def _call(programs: Programs, number: int, function: Callable[..., Any], arguments: Sequence[object]) -> Any:
    return function(programs.numbered[number], *arguments)


def _run(program: timing.Runner, steps: int) -> None:
    program.run(steps)


def _rest(programs: Programs) -> None:
    timing.wait_for_rest()
