"""The child's side of a child process: what runs in the new interpreter, and its connection to the parent."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from workloads.support import errors
from workloads.support.machine import environment
from workloads.support.user import user_code


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


def run_child(
    lifeline: Connection,
    connection: Connection,
    work: bytes,
    exact: bool,
    variables: Mapping[str, str],
    stderr: Connection | None,
) -> None:
    """Runs in a new process: prepares TensorFlow, calls the target, and reports an exception to the parent.

    Args:
      lifeline: this process ends when its other end is closed.
      connection: to the parent's `Child`.
      work: pickled (target, arguments).
      exact: see `environment.prepare`.
      variables: {environment variable: text} to set before that.
      stderr: where what C++ code prints goes; None leaves it on stderr.
    """
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
