"""Names of a port's variables, matched with legacy's by name, shape, initial value and order, in an editable file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from workloads.program import Arrays
from workloads.support.errors import InputError, require

#: Ways in which a variable was matched, the surest first.
NAME, VALUE, SHAPE, ORDER = "name", "initial value", "only one of its shape", "order"

#: Initial values are the same if they differ by no more than this part of the largest entry.
SAME_VALUE = 1e-6


class NameMatch(NamedTuple):
    """Names of a port's variables.

    Attributes:
      names: {the port's name: legacy's}.
      ways: {the port's name: how it was matched}.
      unmatched: variables of either side without a counterpart.
    """

    names: dict[str, str]
    ways: dict[str, str]
    unmatched: list[str]

    def ambiguous(self) -> list[str]:
        """Returns a line for each variable that order alone has matched."""
        return [
            f"{name} is taken for {self.names[name]} by its place alone: others of its shape begin alike"
            for name, way in self.ways.items()
            if way == ORDER
        ]

    def to_json(self) -> dict[str, Any]:
        """Returns the content of the file, of which `read_names` reads "names"."""
        return {
            "names": self.names,
            "matched by": self.ways,
            "ambiguous": self.ambiguous(),
            "unmatched": self.unmatched,
        }


def match_names(legacy: Arrays, port: Arrays) -> NameMatch:
    """Matches a port's variables with legacy's.

    Args:
      legacy: {name: initial value}, in the order in which the model makes them.
      port: the same of the port.

    Returns:
      the match; one variable is matched at most once.
    """
    names: dict[str, str] = {}
    ways: dict[str, str] = {}

    def take(name: str, other: str, way: str) -> None:
        names[name], ways[name] = other, way

    for name in port:
        if name in legacy and np.shape(legacy[name]) == np.shape(port[name]):
            take(name, name, NAME)
    for shape in dict.fromkeys(np.shape(value) for value in port.values()):
        ours = [name for name, value in port.items() if np.shape(value) == shape and name not in names]
        taken = set(names.values())
        theirs = [name for name, value in legacy.items() if np.shape(value) == shape and name not in taken]
        for name in list(ours):  # variables that begin alike, as biases of zero, are matched among themselves
            alike = [other for other in theirs if _have_one_value(port[name], legacy[other])]
            rivals = [rival for rival in ours if _have_one_value(port[rival], port[name])]
            if name in ours and len(alike) == len(rivals):
                for rival, other in zip(rivals, alike):
                    take(rival, other, VALUE if len(alike) == 1 else ORDER)
                ours = [rival for rival in ours if rival not in rivals]
                theirs = [other for other in theirs if other not in alike]
        way = SHAPE if len(ours) == len(theirs) == 1 else ORDER
        for name, other in zip(ours, theirs):
            take(name, other, way)
    ordered = [name for name in port if name in names]
    left_over = list(_left_over(legacy, port, names))
    return NameMatch({name: names[name] for name in ordered}, {name: ways[name] for name in ordered}, left_over)


def _left_over(legacy: Arrays, port: Arrays, names: Mapping[str, str]) -> Iterator[str]:
    """Yields a line for each variable without a counterpart, which says where one differs by the order of its axes."""
    taken = set(names.values())
    free = [name for name in legacy if name not in taken]
    for name in [name for name in port if name not in names]:
        sizes = sorted(np.shape(port[name]))
        alike = [other for other in free if len(sizes) > 1 and sorted(np.shape(legacy[other])) == sizes]
        yield f"{name} (port)" + (f", whose axes are in another order than those of {alike[0]}" if alike else "")
    yield from (f"{name} (legacy)" for name in free)


def read_names(path: str, legacy: Sequence[str], port: Sequence[str]) -> dict[str, str]:
    """Reads a file that `NameMatch.to_json` made and that may have been edited.

    Args:
      path: of the file.
      legacy: names of legacy's variables.
      port: names of the port's.

    Returns:
      {the port's name: legacy's}.

    Raises:
      InputError: it cannot be read, or names a variable that does not exist, or one twice.
    """
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError) as error:
        raise InputError(f"--names: cannot read {path}: {error}")
    names = content.get("names") if isinstance(content, Mapping) else None
    good = isinstance(names, Mapping) and all(isinstance(name, str) for name in names.values())
    require(good, "--names", path, "must be JSON with {\"names\": {the port's name: legacy's}}")
    assert isinstance(names, Mapping)
    for kind, given, allowed in (("port", list(names), port), ("legacy", list(names.values()), legacy)):
        unknown = sorted(set(given) - set(allowed))
        require(not unknown, "--names", path, f"{(unknown or [''])[0]!r} is no variable of the {kind}")
        twice = sorted({name for name in given if given.count(name) > 1})
        require(not twice, "--names", path, f"{(twice or [''])[0]!r} is named twice")
    return dict(names)


def _have_one_value(one: np.ndarray, other: np.ndarray) -> bool:
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    largest = float(np.max(np.abs(first), initial=0.0))
    return bool(np.max(np.abs(first - second), initial=0.0) <= SAME_VALUE * largest)
