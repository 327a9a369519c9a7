"""Singular and plural in messages, and lists of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: So many names are shown of a long list: in a sentence, and in a row of a page.
FEW, SEVERAL = 3, 6


def plural(count: int, one: str, several: str) -> str:
    """Chooses between the singular and the plural form of a text.

    Args:
      count: how many things the text speaks of.
      one: the text for a count of one.
      several: the text for any other count.

    Returns:
      The text.
    """
    return one if count == 1 else several


def listed(names: Sequence[str], most: int, joint: str = ", ") -> str:
    """Returns the first names as a list, and the number of the others.

    >>> listed(["a", "b"], 2), listed(["a", "b", "c"], 2), listed(["x is 1", "y is 2", "z is 3"], 1, "; ")
    ('a, b', 'a, b and 1 more', 'x is 1; and 2 more')

    Args:
      names: to list.
      most: so many are shown.
      joint: text between two; sentences are joined by "; ".

    Returns:
      The text; "" for no names.
    """
    more = len(names) - most
    last = " and " if joint == ", " else joint + "and "
    return joint.join(names[:most]) + (f"{last}{more} more" if more > 0 else "")


def counted(count: int, one: str, several: str = "") -> str:
    """Returns a count with its noun, and with what depends on the noun's number.

    >>> counted(1, "step"), counted(20, "step"), counted(0, "summary shows", "summaries show")
    ('1 step', '20 steps', '0 summaries show')

    Args:
      count: how many things there are.
      one: the noun for a count of one.
      several: the noun for any other count; by default `one` and an "s".

    Returns:
      The count, a space and the noun.
    """
    return f"{count} {plural(count, one, several or one + 's')}"
