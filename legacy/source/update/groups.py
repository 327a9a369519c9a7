"""Lists of weights that have names in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

if TYPE_CHECKING:
    from collections.abc import Mapping


def text_of_group(weights: Sequence[str], groups: Mapping[str, Sequence[str]]) -> str:
    """Returns the text of a list of weights: the name of one with the same weights, all lists joined, or "".

    >>> text_of_group(["b", "a"], {"A": ["a"], "B": ["b"]}), text_of_group(["c"], {"A": ["a"]})
    ('A + B', '')
    """
    for name, group in groups.items():
        if set(group) == set(weights):
            return name
    everything = [weight for group in groups.values() for weight in group]
    return " + ".join(groups) if sorted(everything) == sorted(weights) else ""
