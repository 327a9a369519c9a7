"""Lists of weights that have names in the text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Collection, Sequence

from legacy.source.basics.rendering import literal_text

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


def text_of_part(weights: Sequence[str], groups: Mapping[str, Sequence[str]]) -> str:
    """Returns the text that takes weights out of a list by an ending of their names, or of the others'; "" for none.

    >>> weights = {"A": ["in/kernel", "in/bias", "out/kernel", "out/bias", "scale"]}
    >>> text_of_part(["in/bias", "out/bias"], weights)
    '[name for name in A if name.endswith("/bias")]'
    >>> text_of_part(["in/kernel", "in/bias", "out/kernel", "out/bias"], weights)
    '[name for name in A if name != "scale"]'
    """
    for group, own in groups.items():
        others = [name for name in own if name not in weights]
        if not others or not set(weights) < set(own):
            continue
        ending, of_others = _ending(weights), _ending(others)
        condition = ""
        if ending and not any(name.endswith(ending) for name in others):
            condition = f"name.endswith({literal_text(ending)})"
        elif len(others) == 1:
            condition = f"name != {literal_text(others[0])}"
        elif of_others and not any(name.endswith(of_others) for name in weights):
            condition = f"not name.endswith({literal_text(of_others)})"
        if condition:
            return f"[name for name in {group} if {condition}]"
    return ""


def _ending(names: Collection[str]) -> str:
    """Returns the ending that names have in common: their last part, or a word at its end."""
    found = os.path.commonprefix([name[::-1] for name in names])[::-1] if len(names) > 1 else ""
    _, slash, last = found.rpartition("/")
    if slash:
        return slash + last
    word = found.lstrip("_0123456789")
    return word if len(word) > 3 else ""  # fewer letters may be there by chance
