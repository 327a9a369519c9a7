"""`refusal`: the message with which a check refuses its input, for tests of what it accepts."""

from __future__ import annotations

from collections.abc import Callable

from workloads.support.errors import InputError


def refusal(check: Callable[..., object], *arguments: object) -> str:
    """Returns the message of the `InputError` that a check raises for these arguments; "" if it accepts them."""
    try:
        check(*arguments)
    except InputError as error:
        return str(error)
    return ""
