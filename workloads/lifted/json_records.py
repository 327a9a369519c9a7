"""Dataclasses as plain JSON, whose keys may be other than the attributes' names; and checks of what is read from it."""

from __future__ import annotations

import collections.abc
import dataclasses
import typing
from typing import TYPE_CHECKING, Any, Dict, Iterator, Tuple

from workloads.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: In a field's metadata: its key in JSON, where that is not the attribute's name.
JSON_KEY = "json key"
#: In a field's metadata, true where an empty value is left out, so that what was written before the field is the same.
OMIT_EMPTY = "omit if empty"


def plain(value: Any) -> Any:
    """Returns a dataclass instance, and all in it, as dicts and lists.

    >>> @dataclasses.dataclass
    ... class Edge:
    ...     ends: tuple
    ...     weight: float = dataclasses.field(default=1.0, metadata={JSON_KEY: "w"})
    >>> plain(Edge(("a", "b")))
    {'ends': ['a', 'b'], 'w': 1.0}
    """
    if dataclasses.is_dataclass(value):
        fields = [field for field in dataclasses.fields(value) if not _is_omitted(field, getattr(value, field.name))]
        return {_key(field): plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def arguments_of(cls: Any, content: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns {attribute: value}, the values still plain, of what `plain` made of an instance of `cls`."""
    names = {_key(field): field.name for field in dataclasses.fields(cls)}
    return {names.get(key, key): value for key, value in content.items()}


def _is_omitted(field: dataclasses.Field[Any], value: Any) -> bool:
    return bool(field.metadata.get(OMIT_EMPTY)) and not value


def _key(field: dataclasses.Field[Any]) -> str:
    return field.metadata.get(JSON_KEY, field.name)


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
