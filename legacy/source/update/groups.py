"""Lists of weights that have names in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

if TYPE_CHECKING:
    from collections.abc import Mapping


def text_of_group(weights: Sequence[str], groups: Mapping[str, Sequence[str]]) -> str:
    """Returns the text of a list of weights: the name of one with the same weights, all lists joined, or "".

    >>> text_of_group(["b", "a"], {"A": ["a"], "B": ["b"]}), text_of_group(["c"], {"A": ["a"]})
    ('A + B', '')
    >>> text_of_group(["a", "c"], {"A": ["a"], "B": ["b"], "C": ["c"]})
    'A + C'
    >>> text_of_group(["b", "c", "d"], {"A": ["a", "b", "c", "d"]}), text_of_group(["a", "b"], {"A": ["a", "b", "c"]})
    ('A[1:]', 'A[:-1]')
    """
    for name, group in groups.items():
        if set(group) == set(weights):
            return name
    for name, group in groups.items():
        left_out = len(group) - len(weights)
        if 0 < left_out < len(weights) and set(group[left_out:]) == set(weights):
            return f"{name}[{left_out}:]"
        if 0 < left_out < len(weights) and set(group[:-left_out]) == set(weights):
            return f"{name}[:-{left_out}]"
    own = {name: group for name, group in groups.items() if set(group) <= set(weights)}
    joined = sorted(weight for group in own.values() for weight in group)
    return " + ".join(own) if joined == sorted(weights) else ""
