"""Matching of two models' variables by name, initial value, shape, layer and order of creation.

A variable's layer is its name without the last part: `conv1` of `conv1/weights`, `layer1.0.bn` of `layer1.0.bn.weight`.
Two layers correspond if those of their variables that are matched already are each other's. So biases and moving
statistics, which begin alike in every layer, follow the kernel or the scale of their own layer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, FrozenSet, List, NamedTuple, Tuple

import numpy as np

from workloads.program import Arrays

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Ways in which a variable is matched, the surest first.
NAME, VALUE, SHAPE, LAYER, ORDER = "name", "initial value", "only one of its shape", "layer", "order"

#: Initial values are the same if they differ by no more than this part of the largest entry.
SAME_VALUE = 1e-6


class ModelVariables(NamedTuple):
    """A model's variables before the first step.

    Attributes:
      values: {name: initial value}, in the order in which the model makes them.
      statistics: names of those that no optimizer changes, such as moving means.
    """

    values: Arrays
    statistics: FrozenSet[str] = frozenset()

    def kind(self, name: str) -> Tuple[bool, Tuple[int, ...]]:
        """Returns what two variables must have in common: whether it is a statistic, and the shape."""
        return name in self.statistics, np.shape(self.values[name])


class Group(NamedTuple):
    """Variables of both sides that a rule cannot tell apart, in the order in which the models make them."""

    port: List[str]
    legacy: List[str]

    def is_single(self) -> bool:
        """Whether there is one of each side."""
        return len(self.port) == len(self.legacy) == 1


class Matching:
    """Matches of a port's variables with legacy's, which grow rule by rule; each variable is matched at most once.

    >>> legacy = ModelVariables({"a/w": np.ones(2), "a/b": np.zeros(3), "c/w": np.full(2, 5.0), "c/b": np.zeros(3)})
    >>> port = ModelVariables({"y.w": np.full(2, 5.0), "x.w": np.ones(2), "x.b": np.zeros(3), "y.b": np.zeros(3)})
    >>> matching = Matching(legacy, port)
    >>> matching.names
    {'y.w': 'c/w', 'x.w': 'a/w', 'x.b': 'a/b', 'y.b': 'c/b'}
    >>> matching.ways["x.w"], matching.ways["x.b"]
    ('initial value', 'layer')

    Attributes:
      names: {the port's name: legacy's}, in the port's order.
      ways: {the port's name: the way in which it was matched}.
    """

    def __init__(self, legacy: ModelVariables, port: ModelVariables) -> None:
        self._legacy, self._port = legacy, port
        self.names: Dict[str, str] = {}
        self.ways: Dict[str, str] = {}
        self._match_surely()
        self._match_layers()
        self._match_between_layers()
        self._match_layers()
        for statistics in (False, True):  # weights first: statistics then follow their layers
            self._match_by_order([name for name in self._free_port() if (name in port.statistics) == statistics])
            self._match_layers()
        ordered = [name for name in port.values if name in self.names]
        self.names, self.ways = ({name: found[name] for name in ordered} for found in (self.names, self.ways))

    def _free_port(self) -> List[str]:
        return [name for name in self._port.values if name not in self.names]

    def _free_legacy(self) -> List[str]:
        taken = set(self.names.values())
        return [name for name in self._legacy.values if name not in taken]

    def _take(self, group: Group, way: str) -> None:
        for name, other in zip(group.port, group.legacy):
            self.names[name], self.ways[name] = other, way

    def _match_surely(self) -> None:
        """Matches by equal names, then values that occur once, then shapes of which one is left on each side."""
        for name in self._port.values:
            if name in self._legacy.values and self._legacy.kind(name) == self._port.kind(name):
                self._take(Group([name], [name]), NAME)
        for groups, way in ((self._alike, VALUE), (self._of_one_kind, SHAPE)):
            for group in list(groups(self._free_port(), self._free_legacy())):
                if group.is_single():
                    self._take(group, way)

    def _match_layers(self) -> None:
        """Matches the other variables of layers that correspond."""
        for layer, other in corresponding_layers(self.names).items():
            for groups in (self._alike, self._of_one_kind):
                ours = [name for name in self._free_port() if layer_of(name) == layer]
                theirs = [name for name in self._free_legacy() if layer_of(name) == other]
                for group in list(groups(ours, theirs)):
                    if len(group.port) == len(group.legacy):
                        self._take(group, LAYER if group.is_single() else ORDER)

    def _match_between_layers(self) -> None:
        """Matches what begins alike by its place between layers that correspond, as a normalization after its layer.

        Places count only where each of them has as many of these variables on one side as on the other.
        """
        layers = corresponding_layers(self.names)
        ours = _places(self._port, {layer: layer for layer in layers})
        theirs = _places(self._legacy, {other: layer for layer, other in layers.items()})
        for group in list(self._alike(self._free_port(), self._free_legacy())):
            places = sorted({ours[name] for name in group.port} | {theirs[name] for name in group.legacy})
            parts = [
                Group(
                    [name for name in group.port if ours[name] == place],
                    [name for name in group.legacy if theirs[name] == place],
                )
                for place in places
            ]
            if all(len(part.port) == len(part.legacy) for part in parts):
                for part in parts:
                    self._take(part, ORDER)

    def _match_by_order(self, names: Sequence[str]) -> None:
        """Matches variables of the port by their order, those that begin alike among themselves."""
        for group in list(self._alike(names, self._free_legacy())):
            self._take(group, ORDER)
        for group in list(self._of_one_kind([name for name in names if name not in self.names], self._free_legacy())):
            self._take(group, SHAPE if group.is_single() else ORDER)

    def _alike(self, ours: Sequence[str], theirs: Sequence[str]) -> Iterator[Group]:
        """Yields variables of one kind and one initial value, where both sides have as many of them."""
        left = list(ours)
        while left:
            first = self._port.values[left[0]]
            group = Group(
                [name for name in left if self._are_alike(self._port, name, left[0], first)],
                [name for name in theirs if self._are_alike(self._legacy, name, left[0], first)],
            )
            left = [name for name in left[1:] if name not in group.port]
            if len(group.port) == len(group.legacy):
                yield group

    def _are_alike(self, side: ModelVariables, name: str, own: str, value: np.ndarray) -> bool:
        return side.kind(name) == self._port.kind(own) and _have_one_value(value, side.values[name])

    def _of_one_kind(self, ours: Sequence[str], theirs: Sequence[str]) -> Iterator[Group]:
        for kind in dict.fromkeys(map(self._port.kind, ours)):
            yield Group(
                [name for name in ours if self._port.kind(name) == kind],
                [name for name in theirs if self._legacy.kind(name) == kind],
            )


def layer_of(name: str) -> str:
    """Returns a variable's name without its last part.

    >>> layer_of("conv1/weights"), layer_of("layer1.0.bn.weight"), layer_of("scale")
    ('conv1', 'layer1.0.bn', '')
    """
    return re.sub(r"(^|[/.])[^/.]*$", "", name)


def corresponding_layers(names: Dict[str, str]) -> Dict[str, str]:
    """Returns {the port's layer: legacy's} where all matched variables of one are matched with ones of the other.

    >>> corresponding_layers({"x.w": "a/w", "x.b": "a/b", "y.w": "b/w", "y.b": "c/b", "z": "d/w"})
    {'x': 'a'}

    Args:
      names: {the port's variable: legacy's}.
    """
    pairs = {(layer_of(name), layer_of(other)) for name, other in names.items()}
    ours, theirs = ([pair[side] for pair in pairs] for side in (0, 1))
    return {
        layer: other
        for layer, other in sorted(pairs)
        if layer and other and ours.count(layer) == theirs.count(other) == 1
    }


def _places(side: ModelVariables, anchors: Dict[str, str]) -> Dict[str, str]:
    """Returns {variable: value in `anchors` of its layer, or else of the last layer before that has one, or ""}."""
    names: Dict[str, List[str]] = {}
    for name in side.values:
        names.setdefault(layer_of(name) or name, []).append(name)
    places: Dict[str, str] = {}
    place = ""
    for layer, members in names.items():
        place = anchors.get(layer, place)
        places.update((name, place) for name in members)
    return places


def _have_one_value(one: np.ndarray, other: np.ndarray) -> bool:
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    largest = float(np.max(np.abs(first), initial=0.0))
    return bool(np.max(np.abs(first - second), initial=0.0) <= SAME_VALUE * largest)
