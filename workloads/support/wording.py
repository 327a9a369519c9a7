"""Singular and plural in messages."""

from __future__ import annotations


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
