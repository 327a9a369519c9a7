"""Calls into the user's own code, and one-line reports of the exceptions that come from there.

    with user_code.calling("digits.loss", workload.loss):
        loss = workload.loss(scope, batch)

raises whatever `loss` raises as a `UserError`, one line with the user's file and line. Errors that come later, such as
those of ops that the user's code made, are recognized by `reported_error`, which every command and child process asks.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any, ContextManager, List, Optional, Type

from workloads.support.errors import CommandError, InputError, Lost, UserError
from workloads.support.user import user_frames

#: Characters of a message at most.
LONGEST = 400

#: TensorFlow's errors that say that another process is gone, and nothing about the user's code.
_OF_PEERS = ("AbortedError", "CancelledError", "DeadlineExceededError", "UnavailableError")

#: Lines of TensorFlow's messages that give a place and no reason.
_NOISE = re.compile(
    r"(Graph execution error:|Detected at node.*|File \".*|Node: .*|<stack traces unavailable>|in user code:"
    r"|in converted code:|\d+ root error\(s\) found\.|Additional GRPC error information.*)$"
)

#: Beginnings of the lines that follow the reason in a message.
_END = re.compile(
    r"\[\[|Traceback \(most recent|Original stack trace|Stack trace for op|\(1\) |\d+ successful operations"
    r"|\d+ derived errors|Function call stack|Errors may have originated|(Call a|A)rguments received"
)

#: Number and status code before the first of several errors; ": " before the exception of a Python function.
_FIRST_ERROR = re.compile(r"^\(0\)\s+[A-Za-z][A-Za-z_ ]*?:\s*")

#: Exceptions of this project inside a message of TensorFlow, which kept nothing of them but their text.
_OWN = re.compile(r"\b(InputError|UserError): (.*)", re.DOTALL)


def calling(what: str, function: Any, expected: str = "") -> ContextManager[None]:
    """Makes the context of a call into the user's code: what that raises becomes a `UserError`.

    An `InputError` stays one and gets the user's file and line; `Lost` and Ctrl-C stay as they are. What this project's
    own code raises, where no user's code is involved, stays as it is, too.

    Args:
      what: name of what is called, such as "digits.loss".
      function: what is called, for its file and line where the traceback has none.
      expected: what is expected of it, as the end of a sentence; "" for nothing.

    Returns:
      the context manager.
    """
    return _Calling(what, function, expected)


class _Calling(ContextManager[None]):
    """See `calling`. A class, since `contextlib.contextmanager` would take a `StopIteration` for its own."""

    def __init__(self, what: str, function: Any, expected: str) -> None:
        self._what, self._function, self._expected = what, function, expected

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if not isinstance(error, (Exception, SystemExit)) or isinstance(error, (UserError, Lost)):
            return  # as is: also Ctrl-C and SIGTERM
        place = user_frames.find_place(error)
        if isinstance(error, InputError):
            if place is not None and not error.placed:
                placed = InputError(f"{place}: {error}")
                placed.placed = True
                raise placed from error
            return
        place = place or user_frames.place_of(self._function)
        if place is None:
            return
        expected = f"; expected: {self._expected}" if self._expected else ""
        raise UserError(f"{place}: {self._what} raised {error_line(error)}{expected}") from error


def running(
    what: str, function: Any, graph: Any = None, cause: Callable[[], BaseException | None] = lambda: None
) -> ContextManager[None]:
    """Makes the context of running ops that the user's code made: what an op raises becomes a `UserError`.

    Errors that `reported_error` recognizes stay as they are; so do those of workers that are gone.

    Args:
      what: name of the function that made the ops, such as "digits.loss".
      function: the function, for its file and line where the error names none.
      graph: the `tf.Graph` that a session runs; None for functions.
      cause: returns what the ops' input failed with, if it did: ops that find no more input raise errors of their own.

    Returns:
      the context manager.
    """
    return _Running(what, function, graph, cause)


class _Running(ContextManager[None]):
    """See `running`."""

    def __init__(self, what: str, function: Any, graph: Any, cause: Callable[[], BaseException | None]) -> None:
        self._what, self._function, self._graph, self._cause = what, function, graph, cause

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if error is None or not user_frames.is_op_error(error) or type(error).__name__ in _OF_PEERS:
            return
        if reported_error(error) is not None:
            return
        failure = self._cause()
        if failure is not None:
            raise failure from error
        place = user_frames.place_in_graph(error, self._graph) if self._graph is not None else None
        place = place or user_frames.place_of(self._function)
        if place is not None:
            raise UserError(f"{place}: an op of {self._what} raised {error_line(error)}") from error


def named(what: str, function: Any) -> str:
    """Returns `what` with the file and line of the user's function that it is, for messages about its result."""
    place = user_frames.place_of(function)
    return what if place is None else f"{what} at {place}"


def reported_error(error: BaseException) -> CommandError | None:
    """Returns what an exception is to be reported as, in one line; None for a defect of this project.

    Args:
      error: what was raised: an `InputError`, `Lost` or `UserError`, also one that TensorFlow passed on as text; or
        anything else that comes from the user's code.
    """
    if isinstance(error, CommandError):
        return error
    if user_frames.is_op_error(error) and type(error).__name__ in _OF_PEERS:
        return None
    text = message_text(error)
    own = _OWN.search(text) if user_frames.is_op_error(error) else None
    if own is not None:
        text = own.group(2)
        if own.string[: own.start()].endswith("["):  # the message of an assertion op, in brackets before its condition
            text = text.partition("] [")[0].replace("\\'", "'")
        line = message_line(text, 4 * LONGEST)
        return InputError(line) if own.group(1) == "InputError" else UserError(line)
    place = user_frames.find_place(error)
    if place is None or not isinstance(error, (Exception, SystemExit)):
        return None
    return UserError(f"{place}: {error_line(error)}")


def detached_error(error: BaseException) -> CommandError | None:
    """Returns `reported_error` without references to the frames of the exception: its traceback is kept as text."""
    reported = reported_error(error)
    if reported is None:
        return None
    detached = type(reported)(str(reported))
    detached.details = traceback_text(error)
    return detached


def error_line(error: BaseException) -> str:
    r"""Returns an exception's name and the reason in its message, in one line without the stacks that TensorFlow adds.

    >>> error_line(KeyError("pixels"))
    "KeyError: 'pixels'"
    >>> error_line(ValueError("Graph execution error:\n\n2 root error(s) found.\n  (0) UNKNOWN: No.\n\t [[a]]"))
    'ValueError: No.'
    """
    name, text = type(error).__name__, message_text(error)
    reason = error.msg if isinstance(error, SyntaxError) else message_line(text)
    if re.match(r"\w+(Error|Exception|Exit|Interrupt|Iteration|Warning)\b", reason):
        return reason  # that of a Python function, which TensorFlow quotes
    return f"{name}: {reason}" if reason else name


def message_text(error: BaseException) -> str:
    """Returns an exception's whole message, without Keras's colours and the names of TensorFlow's functions."""
    try:
        text = str(error)
    except Exception:  # the user's exception may do anything there
        return "(its message cannot be shown)"
    return re.sub(r"\x1b\[[0-9;]*m|\{\{function_node [^}]*\}\}\s*", "", text)


def traceback_text(error: BaseException) -> str:
    """Returns the whole traceback of an exception, and of what it was raised from."""
    details = error.details if isinstance(error, CommandError) else ""
    return details or "".join(traceback.format_exception(type(error), error, error.__traceback__))


def message_line(text: str, longest: int = LONGEST) -> str:
    """Returns the reason that a message gives, in one line of at most `longest` characters, without stacks."""
    rewritten = bool(re.match(r"\s*in (user|converted) code:", text))
    kept: List[str] = []
    after_frame = False
    for line in (line.strip() for line in text.splitlines()):
        is_code, after_frame = rewritten and after_frame, line.startswith('File "')
        if not line or is_code or _NOISE.match(line):
            continue
        if _END.match(line):
            if kept:
                break
            continue
        kept.append(_FIRST_ERROR.sub("", line))
    line = re.sub(r"\s*\[Op:\w+\].*$", "", " ".join(" ".join(kept).split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"
