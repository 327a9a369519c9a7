"""Dataclasses as plain JSON, whose keys may be other than the attributes' names."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    from collections.abc import Mapping

#: In a field's metadata: its key in JSON, where that is not the attribute's name.
JSON_KEY = "json key"
#: Key of a field's metadata: true where an empty value is left out, so that files from before the field stay the same.
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
    """Returns {attribute: plain value} of the dictionary that `plain` made of an instance of `cls`."""
    names = {_key(field): field.name for field in dataclasses.fields(cls)}
    return {names.get(key, key): value for key, value in content.items()}


def _is_omitted(field: dataclasses.Field[Any], value: Any) -> bool:
    return bool(field.metadata.get(OMIT_EMPTY)) and not value


def _key(field: dataclasses.Field[Any]) -> str:
    return field.metadata.get(JSON_KEY, field.name)
