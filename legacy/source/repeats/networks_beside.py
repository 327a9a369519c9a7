"""Networks that are used once, beside others that are used several times, as a generator is beside a discriminator."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Set

from legacy.source.basics.expressions import calls, values_used
from legacy.source.lines.definition_order import is_read
from legacy.source.lines.naming import common_folder
from legacy.source.repeats.networks import LEAST_WEIGHTS, Network, Use

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Definition


def networks_beside(
    found: Sequence[Network],
    parts: Sequence[range],
    definitions: Sequence[Definition],
    shape: Callable[[str], Optional[List[int]]],
) -> List[Network]:
    """Finds the networks that are used once: the layers of the weights of a folder beside those of other networks.

    Args:
      found: the networks that are used several times.
      parts: numbers of the definitions of each function.
      definitions: each after those that it uses.
      shape: returns a tensor's static shape, or None.

    Returns:
      The networks; none if no network is used several times.
    """
    if not found:
        return []
    graph = _Graph(definitions, shape)
    taken = {number for network in found for use in network.uses for number in use.members}
    known = {weight for network in found for use in network.uses for weight in use.weights}
    result = []
    for weights in _folders(sorted(set(graph.weights.values()) | known)):
        members = graph.layers_of(weights) if len(weights) >= LEAST_WEIGHTS and not known.intersection(weights) else []
        inside = any(set(members) <= set(part) for part in parts)
        if members and inside and not taken.intersection(members):
            result.append(Network([Use(tuple(members), tuple(graph.weights_of(members)))]))
    return result


def _folders(names: Sequence[str]) -> List[Set[str]]:
    """Returns the names in each folder of the folder that all are in."""
    whole = common_folder(names)
    start = len(whole) + 1 if whole else 0
    folders: Dict[str, Set[str]] = collections.defaultdict(set)
    for name in names:
        folder, slash, _ = name[start:].partition("/")
        if slash:
            folders[folder].add(name)
    return list(folders.values())


class _Graph:
    """The definitions, and the users of each."""

    def __init__(self, definitions: Sequence[Definition], shape: Callable[[str], Optional[List[int]]]) -> None:
        self._definitions, self._shape = definitions, shape
        #: {tensor: name of the variable that it is the value of}.
        self.weights = {d.targets[0]: str(getattr(d.expression, "name", "")) for d in definitions if is_read(d)}
        self._number = {target: n for n, d in enumerate(definitions) if not is_read(d) for target in d.targets}
        self._used = [values_used(d.expression) for d in definitions]
        self._users: Dict[int, Set[int]] = collections.defaultdict(set)
        for number, used in enumerate(self._used):
            for tensor in used:
                if tensor in self._number:
                    self._users[self._number[tensor]].add(number)

    def weights_of(self, members: Sequence[int]) -> List[str]:
        """Returns the names of the variables that some definitions use, in order."""
        return [self.weights[tensor] for number in members for tensor in self._used[number] if tensor in self.weights]

    def layers_of(self, weights: Set[str]) -> List[int]:
        """Returns the numbers of the definitions of the layers of some weights, and of what lies between them.

        The activation behind the last layer is one of them, if it is in the layers' name scope; losses are not.
        """
        layers = [
            n for n, d in enumerate(self._definitions) if d.targets and weights.intersection(self.weights_of([n]))
        ]
        layers = [n for n in layers if not self._is_of_a_loss(n)]
        if not layers:
            return []
        behind, before = self._reached(layers, self._users), self._reached(layers, self._operands())
        members = sorted((behind & before) | set(layers))
        folder = common_folder([self._definitions[number].targets[0] for number in layers])
        while folder:
            users = {user for number in members for user in self._users[number]} - set(members)
            last = {user for user in users if self._definitions[user].targets}  # the others are updates
            own = [
                n for n in last if self._is_activation(n) and self._definitions[n].targets[0].startswith(folder + "/")
            ]
            if len(last) != 1 or not own:
                break
            members += own
        others = set(self.weights_of(members)) - weights
        lost = any(self._is_of_a_loss(number) or not self._definitions[number].targets for number in members)
        return [] if others or lost else members

    def _operands(self) -> Dict[int, Set[int]]:
        numbers = self._number
        return {n: {numbers[t] for t in used if t in numbers} for n, used in enumerate(self._used)}

    def _reached(self, starts: Sequence[int], following: Dict[int, Set[int]]) -> Set[int]:
        """Returns the numbers of the definitions that follow some, not counting these unless they follow others."""
        found: Set[int] = set()
        todo = list(starts)
        while todo:
            new = following.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return found

    def _is_activation(self, number: int) -> bool:
        """Returns whether a definition computes with one tensor alone, and gives one of the same shape."""
        definition, used = self._definitions[number], self._used[number]
        if len(used) != 1 or len(definition.targets) != 1 or self._is_of_a_loss(number):
            return False
        return self._shape(used[0]) == self._shape(definition.targets[0])

    def _is_of_a_loss(self, number: int) -> bool:
        definition = self._definitions[number]
        if any("entropy" in part.function for part in calls(definition.expression)):
            return True
        return any(self._shape(target) == [] for target in definition.targets)
