"""Towers that differ: whether one of them has something besides, or each one numbers or ops of its own.

A regularizer of the first tower alone is the first tower's at any number of towers. Where two towers multiply their
losses by 1 and 2, the graph does not tell what a third one would do.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from legacy.saved.analysis.division.tensor_matching import EqualTensors, TensorMatch, difference
from legacy.saved.graph import op_types
from workloads.lifted.tensors.gradient_names import is_of_gradients

if TYPE_CHECKING:
    from collections.abc import Callable

    from workloads.lifted.graph import Graph, TensorId

#: Ops before a tower's tensor among which another tower's tensor is looked for.
_MOST_BEFORE = 200


class Extra(enum.Enum):
    """The one of two towers that has something which the other one lacks."""

    NOTHING = "the towers are alike"
    FIRST = "the first of them"
    OTHER = "the other one"
    UNKNOWN = "they differ in another way"


class Further(NamedTuple):
    """Further towers than those of a graph.

    Attributes:
      like_first: whether those between the first and the last are as the first one, and not as the second.
      unknown: how the towers differ, where the graph does not tell what further ones would be; "" where it does.
    """

    like_first: bool = False
    unknown: str = ""


class Comparison:
    """Compares two towers by the tensors at which a match of both found them to part.

    Args:
      graph: the subgraph that a step runs.
      changing: its nodes that depend on data, on random numbers or on variables.
      labels: {node: tower}.
      cuts: tensors where data enter a tower.
    """

    def __init__(
        self, graph: Graph, changing: Collection[str], labels: dict[str, int], cuts: Collection[TensorId]
    ) -> None:
        self._graph, self._changing, self._labels = graph, changing, labels
        self._equal = EqualTensors(graph, cuts)

    def extra(self, match: TensorMatch, towers: tuple[int, int]) -> Extra:
        """Returns which of two towers has something besides.

        Args:
          match: of the two.
          towers: their numbers.

        Returns:
          FIRST or OTHER where everything in which they differ is in that tower alone.
        """
        if not match.parted:
            return Extra.UNKNOWN if match.differences else Extra.NOTHING
        found = {self._extra_of(first, other, towers) for first, other in _forward_first(match)}
        return found.pop() if len(found) == 1 else Extra.UNKNOWN

    def _extra_of(self, first: TensorId, other: TensorId, towers: tuple[int, int]) -> Extra:
        """The tower whose tensor is made of the other one's terms, or of the other one, and of something besides."""
        if self._has_more(first, other, towers[0]):
            return Extra.FIRST
        return Extra.OTHER if self._has_more(other, first, towers[1]) else Extra.UNKNOWN

    def _has_more(self, longer: TensorId, shorter: TensorId, tower: int) -> bool:
        """Whether a tower's tensor is a sum with the terms of another one's, or is computed from what equals it."""
        terms, wanted = self._terms(longer), self._terms(shorter)
        matched = []
        for term in wanted:
            alike = next((one for one in terms if self._equal.are_equal(one, term)), None)
            if alike is None:
                return len(wanted) == 1 and self._is_made_of(longer, shorter, tower)
            terms.remove(alike)
            matched.append(alike)
        repeated = any(self._equal.are_equal(term, known) for term in terms for known in matched)
        return not repeated and self._is_own(terms, tower)

    def _terms(self, tensor: TensorId) -> list[TensorId]:
        """The terms of a sum, also of sums in it."""
        if self._graph.type(tensor.node) not in op_types.ADDITIONS:
            return [tensor]
        return [term for one in self._graph.inputs(tensor.node) for term in self._terms(one)]

    def _is_own(self, added: Sequence[TensorId], tower: int) -> bool:
        """Whether what a tower has besides depends on data, random numbers or variables, and on no other tower."""
        before = self._graph.ancestors([tensor.node for tensor in added], controls=False)
        is_computed = any(tensor.node in self._changing for tensor in added)
        return is_computed and {self._labels[name] for name in before & set(self._labels)} <= {tower}

    def _is_made_of(self, longer: TensorId, shorter: TensorId, tower: int) -> bool:
        """Whether a tensor is computed from one that equals another, and from something that is no constant."""
        level, seen = [longer], {longer}
        while level and len(seen) < _MOST_BEFORE:
            before = [one for tensor in level for one in self._graph.inputs(tensor.node) if one not in seen]
            level = list(dict.fromkeys(before))
            seen.update(level)
            found = next((one for one in level if self._equal.are_equal(one, shorter)), None)
            if found is not None:
                between = self._graph.ancestors([longer.node], controls=False)
                between &= self._graph.descendants([found.node], controls=False) - {found.node}
                taken = [one for name in sorted(between) for one in self._graph.inputs(name)]
                added = [one for one in taken if one.node not in between and one != found]
                return self._is_own(added, tower)
        return False


def further_towers(
    matches: Sequence[TensorMatch],
    match: Callable[[int, int], TensorMatch],
    extra: Callable[[TensorMatch, tuple[int, int]], Extra],
    graph: Graph,
) -> Further:
    """Returns the towers that there would be besides those of a graph.

    Args:
      matches: of each later tower with the first one.
      match: matches two towers, given their numbers.
      extra: see `Comparison.extra`.
      graph: the subgraph that a step runs.

    Returns:
      Further towers.
    """
    count = len(matches) + 1
    unlike = [tower for tower, one in enumerate(matches, 1) if one.differences]
    if not unlike or (count > 2 and unlike == [count - 1]):
        return Further(like_first=bool(unlike))
    text = _text(graph, matches[unlike[0] - 1])
    if count == 2:
        found = extra(matches[0], (0, 1))
        return Further(found is Extra.OTHER, text if found is Extra.UNKNOWN else "")
    if unlike != list(range(1, count)):
        return Further(unknown=text)
    second = {tower: match(1, tower) for tower in range(2, count)}
    if _are_alike(second.values()) or (count > 3 and _are_alike(second[tower] for tower in range(2, count - 1))):
        return Further()
    if count == 3 and extra(matches[0], (0, 1)) is Extra.FIRST and extra(second[2], (1, 2)) is Extra.OTHER:
        return Further()
    return Further(unknown=text)


def _are_alike(matches: Iterable[TensorMatch]) -> bool:
    return not any(one.differences for one in matches)


def _text(graph: Graph, match: TensorMatch) -> str:
    """Where two towers part, in words."""
    pairs = _forward_first(match)
    return difference(graph, pairs[0][0].node, pairs[0][1].node) if pairs else match.differences[0]


def _forward_first(match: TensorMatch) -> list[tuple[TensorId, TensorId]]:
    """Where two towers part in their forward passes; in their gradients, if they do so nowhere else."""
    parted = list(dict.fromkeys(match.parted))
    forward = [pair for pair in parted if not any(is_of_gradients(tensor.node) for tensor in pair)]
    return forward or parted
