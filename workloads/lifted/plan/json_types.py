"""Types of values that were read from JSON, checked against the annotations of dataclasses and named tuples."""

from __future__ import annotations

import collections.abc
import dataclasses
import typing
from typing import Any, Iterator, Tuple

from workloads.support.errors import InputError


def require_types(value: Any, cls: Any, subject: str) -> None:
    """Raises `InputError` unless `value`, and all in it, is of the annotated types of `cls`.

    >>> import typing
    >>> class Edge(typing.NamedTuple):
    ...     ends: typing.List[str]
    >>> require_types(Edge(["a", "b"]), Edge, "edge")
    >>> require_types(Edge(["a", 1]), Edge, "edge")
    Traceback (most recent call last):
        ...
    workloads.support.errors.InputError: edge: ends[1] is 1, expected str

    Args:
      value: the value.
      cls: a dataclass, a `NamedTuple`, or an annotation.
      subject: beginning of the message.
    """
    for where, found, expected in _problems(value, cls, ""):
        shown = repr(found)
        raise InputError(f"{subject}: {where or 'it'} is {shown[:60]}, expected {expected}")


def _problems(value: Any, hint: Any, where: str) -> Iterator[Tuple[str, Any, str]]:
    """Yields (place, value, expected type) of all that is of another type."""
    origin = getattr(hint, "__origin__", None)
    arguments: Tuple[Any, ...] = getattr(hint, "__args__", ())
    if hint is Any:
        return
    if origin is typing.Union:
        choices = [choice for choice in arguments if choice is not type(None)]
        if value is not None or type(None) not in arguments:
            yield from _problems(value, choices[0], where)
    elif origin in (list, collections.abc.Sequence):
        if not isinstance(value, (list, tuple)):
            yield where, value, "a list"
        else:
            for number, item in enumerate(value):
                yield from _problems(item, arguments[0], f"{where}[{number}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield where, value, "an object"
        else:
            for key, item in value.items():
                yield from _problems(item, arguments[1], f"{where}[{key!r}]")
    elif dataclasses.is_dataclass(hint) or hasattr(hint, "_fields"):
        if not isinstance(value, hint):
            yield where, value, hint.__name__
        else:
            for name, field_hint in typing.get_type_hints(hint).items():
                yield from _problems(getattr(value, name), field_hint, f"{where}.{name}" if where else name)
    elif hint is float:
        if type(value) not in (int, float):
            yield where, value, "a number"
    elif type(value) is not hint:
        yield where, value, hint.__name__
