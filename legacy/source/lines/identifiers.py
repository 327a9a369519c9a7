"""Python names from the names of the old graph: the last telling word of a path."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Any

from legacy.source.basics.expressions import Item, Literal, Scoped

#: Words that name no value in text: Python's, its builtins, and those that the program's text uses, such as modules.
RESERVED = {
    *keyword.kwlist,
    *(name for name in dir(builtins) if name.islower()),
    "self",
    "batch",
    "batch_size",
    "scope",
}
RESERVED |= {"tf", "np", "argparse", "dataclasses", "itertools", "pathlib"}
RESERVED |= {"initializers", "optimizers", "schedules", "gather"}


def variable_text(name: Any) -> str:
    """Returns the name of a variable as far as it is known: without its scope, or the first tower's of several."""
    if isinstance(name, Scoped):
        return name.rest
    if isinstance(name, Item) and isinstance(name.base, Literal):
        return str(name.base.value[0])
    return name if isinstance(name, str) else name.text.strip('"')


def identifier(path: str, with_number: bool = False) -> str:
    """Returns the last telling word of a name in the graph as a Python name.

    >>> identifier("tower_0/conv1/weights"), identifier("tower_0/loss"), identifier("net/Mean_1")
    ('weights', 'loss', 'mean')
    >>> identifier("net/Conv_3", with_number=True), identifier("net/64_block1", with_number=True), identifier("net/2d")
    ('conv_3', 'block1', 'x2d')

    Args:
      path: the name.
      with_number: whether a number at its end is kept.

    Returns:
      The word.
    """
    word = re.sub(r"\W", "_", path.rpartition("/")[2])
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", word).lower()
    word = (word if with_number else re.sub(r"_?\d+$", "", word)).strip("_") or "value"
    word = re.sub(r"^(\d+_+(?=[a-z])|(?=\d))", lambda number: "" if number[0] else "x", word)
    return word + "_" if word in RESERVED else word
