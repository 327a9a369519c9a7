"""Slices that differ from tower to tower by their bounds, as of a window that was drawn when the graph was built."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, List, Sequence, Tuple

from legacy.source.basics.expressions import Expression, Item, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Text that a bound which is an expression has in a key.
_BOUND = "{}"
_ONE = r"-?\d+|\{\}"
_PART = re.compile(rf"({_ONE})|({_ONE})?:({_ONE})?")


def with_common_key(row: Sequence[Item]) -> Sequence[Item]:
    """Returns slices of the towers with one key, in which numbers that differ are bounds; they stay if it has none.

    >>> x = Literal(0)
    >>> [(one.key, one.bounds) for one in with_common_key([Item(x, ":, 3:19"), Item(x, ":, :16")])]
    [(':, {}:{}', (Literal(value=3), Literal(value=19))), (':, {}:{}', (Literal(value=0), Literal(value=16)))]
    """
    keys = [one.key.split(", ") for one in row]
    if len({one.key for one in row}) == 1 or len({len(parts) for parts in keys}) > 1:
        return row
    bounds = [iter(one.bounds) for one in row]
    made: List[str] = []
    found: List[List[Expression]] = [[] for _ in row]
    for parts in zip(*keys):
        if len(set(parts)) == 1:
            made.append(parts[0])
            for own, given in zip(found, bounds):
                own += _taken(given, parts[0].count(_BOUND))
            continue
        numbers = [_numbers(part) for part in parts]
        if not all(numbers) or len({len(entry) for entry in numbers}) > 1:
            return row
        made.append(":".join(_unified(column, found, bounds) for column in zip(*numbers)))
    return [Item(one.base, ", ".join(made), tuple(own)) for one, own in zip(row, found)]


def _numbers(part: str) -> Tuple[Any, ...]:
    """Returns the number of a part of a key, or its start and its stop; () for a part of another form.

    >>> _numbers("3"), _numbers(":16"), _numbers("{}:"), _numbers("::2")
    ((3,), (0, 16), ('{}', None), ())
    """
    match = _PART.fullmatch(part)
    if not match:
        return ()
    texts = [match.group(1)] if match.group(1) else [match.group(2) or "0", match.group(3)]
    return tuple(text if text in (_BOUND, None) else int(text) for text in texts)


def _unified(column: Sequence[Any], found: Sequence[List[Expression]], bounds: Sequence[Iterator[Expression]]) -> str:
    """Returns the text of one number of all towers' keys.

    Args:
      column: the number of each tower: `_BOUND`, a number, or None for the end.
      found: bounds of each tower so far; get further ones.
      bounds: those that each tower's slice had.

    Returns:
      The text.
    """
    if len(set(column)) == 1 and column[0] != _BOUND:
        return "" if column[0] is None else str(column[0])
    for value, own, given in zip(column, found, bounds):
        own += _taken(given, 1) if value == _BOUND else [Literal(value)]
    return _BOUND


def _taken(given: Iterator[Expression], count: int) -> List[Expression]:
    return [next(given) for _ in range(count)]
