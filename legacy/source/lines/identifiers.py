"""Python names from the names of the old graph: the last telling word of a path."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Any, Dict, Hashable, List, Mapping, TypeVar

from legacy.source.basics.expressions import Item, Literal, Scoped

Key = TypeVar("Key", bound=Hashable)
#: Folders that are told beside a word, at most.
MOST_FOLDERS = 2
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


def words_of_paths(paths: Mapping[Key, str]) -> Dict[Key, str]:
    """Returns the last telling word of each path; where several have the same, with the folders in which they differ.

    >>> words_of_paths({1: "net/cell_0/lstm/kernel", 2: "net/cell_1/lstm/kernel", 3: "net/cell_0/lstm/bias"})
    {1: 'cell_0_kernel', 2: 'cell_1_kernel', 3: 'bias'}
    >>> words_of_paths({1: "a/fc1/w", 2: "a/fc2/w", 3: "a/w"})
    {1: 'fc1_w', 2: 'fc2_w', 3: 'a_w'}
    """
    groups: Dict[str, List[Key]] = {}
    for key, path in paths.items():
        groups.setdefault(identifier(path), []).append(key)
    found = {key: word for word, keys in groups.items() for key in keys}
    for word, keys in groups.items():
        folders = {key: paths[key].split("/")[-2::-1] for key in keys}  # the innermost first
        if len(keys) > 1 and all(folders.values()):
            told = _differing(folders)
            found.update((key, f"{told[key]}_{word}") for key in keys)
    return {key: found[key] for key in paths}


def _differing(folders: Mapping[Key, List[str]]) -> Dict[Key, str]:
    """Returns the innermost folders in which some paths differ, as few as tell each path from the others.

    Args:
      folders: {path: its folders, the innermost first}.

    Returns:
      The folders' words; of paths that few folders do not tell apart, the innermost folder.
    """
    depth = min(map(len, folders.values()))
    levels = [level for level in range(depth) if len({row[level] for row in folders.values()}) > 1]
    for count in range(1, MOST_FOLDERS + 1):
        chosen = levels[:count]
        rows = {key: tuple(identifier(row[level], True) for level in reversed(chosen)) for key, row in folders.items()}
        if chosen and len(set(rows.values())) == len(rows):
            return {key: "_".join(row) for key, row in rows.items()}
    return {key: identifier(row[0], True) for key, row in folders.items()}
