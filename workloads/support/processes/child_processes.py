"""Child processes of a command, each of which ends when the command ends, however that happens.

A child holds one end of a pipe whose other end only its parent has. When the parent ends, even by SIGKILL, the system
closes that end, and the child's watching thread ends the child.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import pickle
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workloads.support import errors
from workloads.support.processes import interrupts
from workloads.support.processes.child_side import run_child
from workloads.support.processes.last_line import LastLine

#: Seconds that a child is given to end by itself.
GRACE = 5.0


class Child:
    """A new interpreter that runs `target(speaker, *arguments)`, where `speaker` is its `Speaker`.

    Args:
      name: its name in messages, e.g. "worker 1".
      target: a function defined at the top level of a module.
      arguments: picklable; unpickled when the child's TensorFlow is ready, which they may need.
      exact: see `environment.prepare`, which the child begins with.
      variables: {environment variable: text} to set before that.
      quiet: drop what C++ code prints on stderr, as TensorFlow's does about every failure that it raises as well; of a
        child that aborts the last line is part of the message. What Python prints is shown.
    """

    def __init__(
        self,
        name: str,
        target: Callable[..., object],
        arguments: Iterable[object] = (),
        exact: bool = False,
        variables: Mapping[str, str] | None = None,
        quiet: bool = False,
    ) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")
        self._lifeline, lifeline = context.Pipe()
        self._connection, connection = context.Pipe()
        printed, stderr = context.Pipe(duplex=False) if quiet else (None, None)
        work = pickle.dumps((target, tuple(arguments)))
        self._process = context.Process(
            target=run_child,
            args=(lifeline, connection, work, exact, dict(variables or {}), stderr),
            name=name,
            daemon=True,
        )
        with interrupts.without_ctrl_c():
            self._process.start()
        for end in filter(None, (lifeline, connection, stderr)):
            end.close()  # so that a child that ends is an end of file here
        self._printed = None if printed is None else LastLine(printed)

    @property
    def pid(self) -> int | None:
        """Its process number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True while it still runs."""
        return self._process.is_alive()

    @property
    def sentinel(self) -> int:
        """A handle that `multiprocessing.connection.wait` finds ready once it has ended."""
        return self._process.sentinel

    def send(self, message: object) -> None:
        """Hands `message`, which is pickled, to the child's `Speaker.listen`.

        Raises:
          Lost: it has ended.
        """
        try:
            self._connection.send(message)
        except OSError:
            raise self._lost()

    def receive(self, timeout: float | None = None) -> Any:
        """Waits for the child's next message and returns it.

        Args:
          timeout: seconds to wait at most; None waits for ever.

        Raises:
          Lost: it ended, failed, or said nothing for `timeout` seconds.
          InputError: it refused its input.
          UserError: the user's own code failed there.
        """
        try:
            if not self._connection.poll(timeout):
                raise errors.Lost(f"{self.name} sent nothing for {timeout or 0.0:.0f} s")
            kind, content = self._connection.recv()
        except (EOFError, OSError):
            raise self._lost()
        if kind == "refused":
            raise errors.InputError(content)
        if kind == "crashed":
            raise _user_error(*content)
        if kind == "failed":
            raise errors.Lost(f"{self.name} failed: {content}")
        return content

    def stop(self, grace: float = GRACE) -> None:
        """Ends it by closing its connection, and by SIGKILL if it still runs after `grace` seconds."""
        self._connection.close()
        self._process.join(grace)
        self.kill()

    def kill(self) -> None:
        """Ends it by SIGKILL."""
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._lifeline.close()

    def _lost(self) -> errors.Lost:
        self._process.join(GRACE)
        code = self._process.exitcode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
        line = self._printed.read() if self._printed is not None and how == f"by signal {signal.SIGABRT:d}" else ""
        return errors.Lost(f"{self.name} (process {self.pid}) ended {how}{line and f' ({line})'}")


def receive_from_all(children: Sequence[Child]) -> list[Any]:
    """Waits for the next message of each child and returns them in the order of `children`.

    Raises:
      Lost: one ended or failed. One that was killed is named before those that failed because of it.
      InputError, UserError: one refused its input, or failed in the user's own code.
    """
    messages: dict[str, Any] = {}
    waiting: dict[Any, Child] = {child._connection: child for child in children}
    while waiting:
        for ready in multiprocessing.connection.wait(list(waiting)):
            child = waiting.pop(ready)
            try:
                messages[child.name] = child.receive()
            except errors.Lost as lost:
                raise _first_cause(children, waiting.values(), lost)
    return [messages[child.name] for child in children]


def _first_cause(children: Sequence[Child], waiting: Iterable[Child], lost: errors.Lost) -> Exception:
    """Returns the error that the others followed from, if it is known: a child that a signal ended, or a refusal.

    Args:
      children: all of them.
      waiting: those that have said nothing yet.
      lost: what is returned if nothing else is known.
    """
    for child in waiting:
        try:
            child.receive(0.2)
        except (errors.InputError, errors.UserError) as error:
            return error
        except errors.Lost:
            continue
    for child in children:
        child._process.join(0.2)
        if (child._process.exitcode or 0) < 0:
            return child._lost()
    return lost


def _user_error(message: str, details: str) -> errors.UserError:
    error = errors.UserError(message)
    error.details = details
    return error


def stop_all(children: Iterable[Child], grace: float = GRACE) -> None:
    """Ends all of `children`, together and not one after the other, in `grace` seconds at most."""
    running, end = list(children), time.monotonic() + grace
    for child in running:
        child._connection.close()
    for child in running:
        child.stop(max(0.0, end - time.monotonic()))
