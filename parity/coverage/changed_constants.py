"""Changed constants: copies of a frozen record, such as an optimizer or a schedule, each with one field changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

from workloads.support.errors import InputError

#: A constant is changed by one part in a hundred; an epsilon, of which only the order of magnitude matters, tenfold.
FACTOR, EPSILON_FACTOR = 1.01, 10.0

#: A constant of zero is changed to this.
FROM_ZERO = 0.01


class ChangedConstant(NamedTuple):
    """A record with one constant changed.

    Attributes:
      field: path of the constant: "beta1", "boundaries[0]".
      change: in words: "0.9 -> 0.909".
      record: the copy.
    """

    field: str
    change: str
    record: Any


def changed_constants(record: Any) -> Iterator[ChangedConstant]:
    """Yields copies of a dataclass instance, each with one number or truth value in it changed.

    Whole numbers are changed up and down by one, the usual mistake with boundaries and counts. Records inside the
    record, and the entries of tuples, are changed one by one.
    """
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        return
    for field in dataclasses.fields(record):
        for path, change, value in _changed_values(field.name, getattr(record, field.name)):
            try:
                yield ChangedConstant(path, change, dataclasses.replace(record, **{field.name: value}))
            except (TypeError, ValueError, InputError):  # no program can have a value that the record refuses
                continue


def _changed_values(path: str, value: Any) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, bool):
        yield path, f"{value} -> {not value}", not value
    elif isinstance(value, int):
        for changed in (value - 1, value + 1):
            yield path, f"{value} -> {changed}", changed
    elif isinstance(value, float):
        changed_float = _changed_float(path, value)
        yield path, f"{value:.6g} -> {changed_float:.6g}", changed_float
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            for inner, change, changed in _changed_values(f"{path}[{index}]", item):
                yield inner, change, value[:index] + (changed,) + value[index + 1 :]
    elif dataclasses.is_dataclass(value):
        for inner_constant in changed_constants(value):
            yield f"{path}.{inner_constant.field}", inner_constant.change, inner_constant.record


def _changed_float(path: str, value: float) -> float:
    if value == 0:
        return FROM_ZERO
    if "epsilon" in path:
        return value * EPSILON_FACTOR
    if 0.5 < value < 1:  # a decay: 1 - decay changes by one part in a hundred
        return 1 - (1 - value) * FACTOR
    return value * FACTOR
