"""Child processes of a command, each of which ends when the command ends, however that happens.

A child holds one end of a pipe whose other end only its parent has. When the parent ends, even by SIGKILL, the system
closes that end, and the child's watching thread ends the child.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from workloads.support import errors
from workloads.support.machine import environment
from workloads.support.user import user_code

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
            target=_run, args=(lifeline, connection, work, exact, dict(variables or {}), stderr), name=name, daemon=True
        )
        with without_ctrl_c():
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


class LastLine:
    """The last line that came through a pipe, read by a thread of its own; no more than `LONGEST` bytes are kept.

    Args:
      pipe: the end to read from.
    """

    LONGEST = 2000

    def __init__(self, pipe: Connection) -> None:
        self._tail = b""
        self._thread = threading.Thread(target=self._collect, args=(pipe,), daemon=True)
        self._thread.start()

    def read(self) -> str:
        """Waits for the pipe's end, `GRACE` seconds at most, and returns the last line, "" if nothing came."""
        self._thread.join(GRACE)
        lines = self._tail.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _collect(self, pipe: Connection) -> None:
        for part in iter(lambda: os.read(pipe.fileno(), 1 << 16), b""):
            self._tail = (self._tail + part)[-self.LONGEST :]
        pipe.close()


class Speaker:
    """The child's end of the connection, given to its target."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def say(self, message: object) -> None:
        """Hands `message`, which is pickled, to the parent's `Child.receive`."""
        self._connection.send(("said", message))

    def listen(self) -> Any:
        """Waits for the parent's next message and returns it; None when there will be no more."""
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            return None


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
    """Returns what others failed because of, if that is known: the loss of a child that a signal ended, or a refusal.

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


@contextlib.contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Context in which processes are started that never see Ctrl-C: it reaches the whole group, the parent decides."""
    resource_tracker.ensure_running()  # it comes with the first child, and unblocks SIGINT (Python before 3.12)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(
    lifeline: Connection,
    connection: Connection,
    work: bytes,
    exact: bool,
    variables: Mapping[str, str],
    stderr: Connection | None,
) -> None:
    """Runs in the child: prepares its TensorFlow, calls the pickled target, and reports an exception to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    if stderr is not None:
        sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)  # Python's own
        os.dup2(stderr.fileno(), 2)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    os.environ.update(variables)
    try:
        environment.prepare(exact)
        target, arguments = pickle.loads(work)
        target(Speaker(connection), *arguments)
    except BaseException as error:
        _tell(connection, *_message_about(error))
    # TensorFlow's servers and collectives cannot be closed; a process can.
    os._exit(0)


def _message_about(error: BaseException) -> tuple[str, Any]:
    """Returns the kind of message that tells the parent of an exception, and its content."""
    reported = user_code.reported_error(error)
    if isinstance(reported, errors.InputError):
        return "refused", str(reported)
    if isinstance(reported, errors.UserError):
        return "crashed", (str(reported), user_code.traceback_text(error))
    lines = traceback.format_exception_only(type(error), error)
    return "failed", " ".join("".join(lines).split())


def _tell(connection: Connection, kind: str, content: Any) -> None:
    try:
        connection.send((kind, content))
    except OSError:  # the parent is gone
        pass


def _end_with(lifeline: Connection) -> None:
    """Ends this process when the other end of `lifeline` is closed."""
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os._exit(1)
