"""Exceptions of the commands: input that cannot be used, a worker that is gone, and user code that fails."""

from __future__ import annotations

import re

#: What TensorFlow says of sizes that do not fit each other.
_SIZES = re.compile(
    r"Dimensions? (size )?must be|Shapes? must be|Incompatible shapes|reshape"
    r"|begin and size arguments|Expected size\[|in both shapes must be equal|at least rank"
)
#: Characters of a value that a message shows at most.
LONGEST = 300


class CommandError(Exception):
    """Base of the exceptions that a command tells in one line, which is their message.

    Attributes:
      details: the whole traceback as text, where its frames are not kept; "" otherwise.
      placed: whether the message has the user's file and line already.
    """

    details = ""
    placed = False


class InputError(CommandError, ValueError):
    """Bad input. The message is one line: the argument, the value it had, and what is allowed."""


class OpFailed(InputError):
    """An op of a program does not run here, or not with the numbers that it was given."""


class Lost(CommandError, RuntimeError):
    """Something that a run depends on is gone, such as a worker. The message is one line; the exit status is 1."""


class UserError(CommandError, RuntimeError):
    """The user's own code failed. The message is one line that begins with their file and line; exit status 4."""


def require(condition: object, argument: str, value: object, allowed: str) -> None:
    """Raises `InputError` naming `argument`, its `value` and what is `allowed`, unless `condition` holds.

    >>> require(2 >= 1, "--steps", 2, "must be at least 1")
    >>> require(0 >= 1, "--steps", 0, "must be at least 1")
    Traceback (most recent call last):
        ...
    workloads.support.errors.InputError: --steps: got 0, must be at least 1

    Args:
      condition: anything; its truth value counts.
      argument: what the value was given as, e.g. "--steps".
      value: what was given.
      allowed: what would be allowed, as the end of a sentence.
    """
    if not condition:
        got = " ".join(repr(value).split())
        got = got if len(got) <= LONGEST else got[: LONGEST - 1] + "…"
        raise InputError(f"{argument}: got {got}, {allowed}")


def is_about_sizes(message: str) -> bool:
    """Returns whether TensorFlow reports sizes that do not fit each other, as of inputs that were made up.

    >>> is_about_sizes("Input to reshape is a tensor with 48 values, but 64 are required"), is_about_sizes("not found")
    (True, False)
    """
    return bool(_SIZES.search(message))
