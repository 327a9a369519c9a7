"""Runs a command's work in a child process, so that a crash of native code, or a limit, is reported in one line.

TensorFlow trusts the graphs and checkpoints that it is given: a damaged one can end the process. The child is forked
before TensorFlow is imported, so that it costs nothing: the parent only waits, and never imports it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import NamedTuple, NoReturn, Optional

from workloads.support.errors import InputError
from workloads.support.machine import environment, memory
from workloads.support.processes import ending

#: Signals that native code ends a process by.
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
#: First line of what TensorFlow, C++ and Python print when they end a process; many follow.
_LAST_WORDS = re.compile(
    rb"F\d{4} |\d{4}-\d\d-\d\d [\d:.]+: F |\*\*\* Check failure|Fatal Python error|terminate called|"
    rb"libc\+\+abi|free\(\)|malloc|double free|corrupted|munmap_chunk|PC: @|\s+@ +0x"
)
#: Seconds between two looks at the child's memory.
_INTERVAL = 0.02


class Limits(NamedTuple):
    """Limits of a child process; None for no limit.

    Attributes:
      bytes: resident memory.
      seconds: processor time; a child that waits instead is ended after three times as long.
      advice: what may be the reason that a limit is reached.
      crash: what may be the reason of a crash.
    """

    bytes: Optional[int] = None
    seconds: Optional[float] = None
    advice: str = "damaged, or made to do harm?"
    crash: str = "damaged, or made to do harm?"


def limits_of_files(graph: int = 0, values: int = 0) -> Limits:
    """Returns the limits of work on files, in bytes: what TensorFlow itself needs, and multiples of their sizes.

    The analysis of a graph holds each node several times: 2.0 GB were measured for a file of 21 MB with 87,000 nodes.

    Args:
      graph: size of a graph file.
      values: size of a checkpoint.

    Returns:
      The limits.
    """
    return Limits((3 << 29) + 64 * graph + 12 * values, 60.0 + 300.0 * (graph + values) / (1 << 20))


def limits_of_runs(graph: int, values: int, advice: str, crash: str = Limits().crash) -> Limits:
    """Returns the limits of work that also runs a graph: its memory and time follow the data, and not the files.

    Args:
      graph: size of the graph file in bytes.
      values: size of a checkpoint in bytes.
      advice: how the work may need less.
      crash: what may be the reason of a crash.

    Returns:
      The limits: at least half of the machine's memory, and an hour.
    """
    files = limits_of_files(graph, values)
    most = max(files.bytes or 0, memory.total_bytes() // 2)
    return Limits(most, max(files.seconds or 0.0, 3600.0), f"damaged, or larger than this machine; {advice}", crash)


def run_isolated(work: Callable[[], int], subject: str, limits: Limits = Limits()) -> int:  # noqa: B008  immutable
    """Runs `work` in a child of this process and returns its exit status.

    Args:
      work: returns the exit status; its errors are already told. TensorFlow must not have been imported before.
      subject: beginning of messages: the input that is not trusted, such as "graph file: 'graph.meta'".
      limits: what the child may use.

    Returns:
      the exit status; 128 and the signal's number, if a signal from outside ended the child.

    Raises:
      InputError: the child crashed, or reached a limit.
    """
    if "tensorflow" in sys.modules or not hasattr(os, "fork"):
        return work()
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if not child:
        os.close(reader)
        _run_child(work, writer, parent, limits)
    os.close(writer)
    with contextlib.closing(_Watch(child, reader, limits)) as watch:
        return _exit_status(watch.wait(), watch, subject)


def _pass_signals_to(child: int) -> Callable[[], None]:
    """Passes Ctrl-C and SIGTERM on to a child, which ends in its own time; returns the function that undoes this."""
    undo = [ending.handle_once(number, lambda received: os.kill(child, received)) for number in ending.LINES]

    def undo_all() -> None:
        for function in undo:
            function()

    return undo_all


def _run_child(work: Callable[[], int], writer: int, parent: int, limits: Limits) -> NoReturn:
    """Runs `work` in the forked child and ends the process."""
    status = ending.DEFECT
    try:
        environment.end_with_parent(parent)
        os.setpgid(0, 0)  # Ctrl-C reaches the parent, which passes it on: once
        ending.watch_signals()
        if limits.seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limits.seconds) + 1, int(limits.seconds) + 6))
        plain_stderr = os.dup(2)
        os.dup2(writer, 2)  # native code writes there, and the parent passes it on
        os.close(writer)
        sys.stderr = os.fdopen(plain_stderr, "w", buffering=1, errors="backslashreplace")
        faulthandler.disable()
        status = work()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    ending.end_process(status)


class _Watch:
    """Waits for a child, passes on what its native code prints, and ends it at its limits.

    Attributes:
      limits: of the child.
      reason: the limit at which it was ended, in words; "" if it was not.
    """

    def __init__(self, child: int, reader: int, limits: Limits) -> None:
        self._child, self._reader, self.limits = child, reader, limits
        self._deadline = None if limits.seconds is None else time.monotonic() + 3.0 * limits.seconds
        self._rest = b""
        self._reader_is_open, self._dying = True, False
        self.reason = ""
        self._undo = _pass_signals_to(child)

    def wait(self) -> int:
        """Returns the child's wait status."""
        while True:
            try:
                open_ends = [self._reader] if self._reader_is_open else []
                if select.select(open_ends, [], [], _INTERVAL)[0]:
                    self._pass_on(os.read(self._reader, 1 << 16))
                done, status = os.waitpid(self._child, os.WNOHANG)
                if done:
                    self._pass_on_rest()
                    return status
                self._enforce()
            except (KeyboardInterrupt, ending.Terminated) as error:  # a second time
                os.kill(self._child, signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM)

    def close(self) -> None:
        """Closes the pipe, and handles signals as before."""
        self._undo()
        os.close(self._reader)

    def _enforce(self) -> None:
        """Ends the child if it is beyond a limit."""
        if self.limits.bytes is not None and _resident(self._child) > self.limits.bytes:
            self._end(f"it needs more than {self.limits.bytes / (1 << 30):.1f} GiB of memory")
        elif self._deadline is not None and time.monotonic() > self._deadline:
            self._end(f"it is not done after {3.0 * (self.limits.seconds or 0.0):.0f} s")

    def _end(self, reason: str) -> None:
        self.reason = self.reason or reason
        os.kill(self._child, signal.SIGKILL)

    def _pass_on(self, data: bytes) -> None:
        """Writes whole lines to stderr, until the first of a process's last words."""
        self._reader_is_open = bool(data)
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._dying = self._dying or bool(_LAST_WORDS.match(line))
            # With limits a file is read, and nothing is run that could have something to say.
            if not self._dying and self.limits.seconds is None:
                os.write(2, line + b"\n")

    def _pass_on_rest(self) -> None:
        os.set_blocking(self._reader, False)  # a grandchild may hold the other end
        with contextlib.suppress(BlockingIOError):
            while self._reader_is_open:
                self._pass_on(os.read(self._reader, 1 << 16))


def _exit_status(status: int, watch: _Watch, subject: str) -> int:
    """Returns the exit status of a child's wait status, or raises `InputError`."""
    if watch.reason:
        raise InputError(f"{subject}: {watch.reason}; {watch.limits.advice}")
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    if number == signal.SIGXCPU:
        raise InputError(
            f"{subject}: it takes more than {watch.limits.seconds:.0f} s of processor time; {watch.limits.advice}"
        )
    if number in _CRASHES:
        name = signal.Signals(number).name
        raise InputError(f"{subject}: TensorFlow crashes on it ({name}); {watch.limits.crash}")
    return 128 + number


def _resident(process: int) -> int:
    """Returns the resident memory of a process in bytes; 0 where that cannot be told."""
    try:
        with open(f"/proc/{process}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
