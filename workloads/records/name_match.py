"""Names of a port's variables, matched with legacy's in an editable file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from workloads.records.variable_match import ORDER, Matching, ModelVariables
from workloads.support.errors import InputError, require


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


def match_names(legacy: ModelVariables, port: ModelVariables) -> NameMatch:
    """Matches a port's variables with legacy's; weights with weights, and statistics with statistics.

    Args:
      legacy: its variables.
      port: the port's.

    Returns:
      the match; one variable is matched at most once.
    """
    found = Matching(legacy, port)
    return NameMatch(found.names, found.ways, list(_left_over(legacy, port, found.names)))


def _left_over(legacy: ModelVariables, port: ModelVariables, names: Mapping[str, str]) -> Iterator[str]:
    """Yields a line for each variable without a counterpart; it says where one of another layout or kind is left."""
    taken = set(names.values())
    free = [name for name in legacy.values if name not in taken]
    for name in [name for name in port.values if name not in names]:
        yield f"{name} (port)" + _near_counterpart(name, port, free, legacy)
    yield from (f"{name} (legacy)" for name in free)


def _near_counterpart(name: str, port: ModelVariables, free: Sequence[str], legacy: ModelVariables) -> str:
    """Describes the difference from one of the `free` variables of legacy that is nearly the counterpart; else ""."""
    is_statistic, shape = port.kind(name)
    kinds = {other: legacy.kind(other) for other in free}
    for other, kind in kinds.items():
        if kind == (not is_statistic, shape):
            own, its = ("statistic", "weight") if is_statistic else ("weight", "statistic")
            return f", a {own}, while {other} is a {its}"
    for other, (same, its_shape) in kinds.items():
        if same == is_statistic and len(shape) > 1 and sorted(its_shape) == sorted(shape):
            return f", whose axes are in another order than those of {other}"
    return ""


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
