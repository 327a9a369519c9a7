"""Networks that are used several times, as a discriminator on real and on generated data, or a target network.

Definitions that compute the same of the same weights belong to one class; what hangs together is a use of a network.
"""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Counter, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import (
    Expression,
    Item,
    Name,
    Value,
    Variable,
    calls,
    leaves,
    replace,
    values_used,
)
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.naming import common_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Definition

#: The fewest weights of a network.
LEAST_WEIGHTS = 4
#: Share of the weights that folders with the same weights in each must have to be networks of the same form.
MOST_OF_THE_WEIGHTS = 0.6
#: Stands for an operand that comes from outside of a network.
_OUTSIDE = "*"


class Use(NamedTuple):
    """One use of a network.

    Attributes:
      members: numbers of its definitions, in the order of the classes of `Network`.
      weights: names of its weights, in the order in which its definitions ask for them.
    """

    members: Tuple[int, ...]
    weights: Tuple[str, ...]


class Network(NamedTuple):
    """A network that is used several times.

    Attributes:
      uses: each with as many definitions, the first of which computes the same as the first of the others, and so on.
    """

    uses: List[Use]


def find_networks(
    definitions: Sequence[Definition], shape: Callable[[str], Optional[List[int]]], free: Set[int]
) -> List[Network]:
    """Finds the networks that some definitions use several times.

    Args:
      definitions: each after those that it uses.
      shape: returns a tensor's static shape, or None.
      free: numbers of the definitions that are computed of neither data nor variables.

    Returns:
      The networks.
    """
    return _Search(definitions, shape, free).networks()


def without_data(definitions: Sequence[Definition]) -> Set[int]:
    """Returns the numbers of the definitions that are computed of neither data nor variables."""
    found: Set[int] = set()
    targets: Set[str] = set()
    for number, definition in enumerate(definitions):
        own = [definition.expression, *leaves(definition.expression)]
        given = any(isinstance(leaf, Variable) or leaf == Name("batch") for leaf in own)
        if definition.targets and not given and targets.issuperset(values_used(definition.expression)):
            found.add(number)
            targets.update(definition.targets)
    return found


class _Search:
    """Finds networks; see `find_networks`."""

    def __init__(
        self, definitions: Sequence[Definition], shape: Callable[[str], Optional[List[int]]], free: Set[int]
    ) -> None:
        self._definitions, self._shape, self._free = definitions, shape, free
        self._number = {target: n for n, d in enumerate(definitions) for target in d.targets}
        reads = {d.targets[0]: d.expression for d in definitions if isinstance(d.expression, Variable) and _is_read(d)}
        self._reads = {tensor: str(read.name) for tensor, read in reads.items()}
        self._likes = names_without_network({str(read.name): read.shape for read in reads.values()})
        self._classes: Dict[int, str] = {}
        self._short: Dict[str, str] = {}  # {text of a class: its number}
        self._free_classes: Dict[str, str] = {}  # {tensor computed of no data: its class}
        for number, definition in enumerate(definitions):
            made = self._class_of(definition)
            if made and number not in free and not _is_read(definition):
                self._classes[number] = made
        self._count = collections.Counter(self._classes.values())

    def networks(self) -> List[Network]:
        """Returns the networks."""
        parts = self._parts()
        alike: Dict[FrozenSet[str], List[Dict[str, int]]] = collections.defaultdict(list)
        for part in parts:
            classes = {self._classes[number]: number for number in part}
            if len(classes) == len(part):
                alike[frozenset(one for one, n in classes.items() if self._weights([n]))].append(classes)
        found: List[Network] = []
        for group in alike.values():
            shared = set.intersection(*(set(use) for use in group))  # what is done to one result is no part of it
            order = [self._classes[number] for number in sorted(group[0].values()) if self._classes[number] in shared]
            kept = self._in_folder(order, group)
            uses = [Use(tuple(use[one] for one in kept), self._weights([use[one] for one in kept])) for use in group]
            if len(uses) > 1 and min(len(set(use.weights)) for use in uses) >= LEAST_WEIGHTS:
                found.append(Network(uses))
        return found

    def _class_of(self, definition: Definition) -> str:
        """Returns what is equal for definitions that compute the same of a network; "" for what is of none."""
        expression = definition.expression
        if not definition.targets:
            return ""
        if self._shape(definition.targets[0]) == [] or any("entropy" in part.function for part in calls(expression)):
            return ""  # a loss or a mean, which is no part of the network that it is of
        used = values_used(expression)
        of_weights = any(tensor in self._reads for tensor in used)
        if not of_weights and not any(self._number.get(tensor) in self._classes for tensor in used):
            return ""

        def label(part: Expression) -> Expression | None:
            if isinstance(part, Item) and part.base == Name("batch"):
                return Name(_OUTSIDE)
            if not isinstance(part, Value):
                return None
            number = self._number.get(part.tensor, -1)
            if part.tensor in self._reads:
                return Name(f"weight {self._likes[self._reads[part.tensor]]}")
            if number in self._free:
                return Name(self._class_of_free(part.tensor))
            known = "" if of_weights else self._classes.get(number, "")
            return Name(known or _OUTSIDE)

        text = expression_text(replace(expression, label))
        return self._short.setdefault(text, f"#{len(self._short)}")

    def _class_of_free(self, tensor: str) -> str:
        """Returns what is equal for tensors that are computed alike of no data, whatever their random streams' names.

        A number, and not the text of all that a tensor is computed of: where each value is used twice, that text
        doubles with every definition.
        """
        if tensor not in self._free_classes:

            def label(part: Expression) -> Expression | None:
                return Name(self._class_of_free(part.tensor)) if isinstance(part, Value) else None

            text = expression_text(replace(self._definitions[self._number[tensor]].expression, label))
            text = re.sub(r'(scope\.\w+\()"[^"]*"', r"\1", text)
            self._free_classes[tensor] = self._short.setdefault(text, f"#{len(self._short)}")
        return self._free_classes[tensor]

    def _parts(self) -> List[List[int]]:
        """Returns the numbers of the definitions of each use of a network."""
        parent = {number: number for number, own in self._classes.items() if self._count[own] > 1}

        def root(number: int) -> int:
            while parent[number] != number:
                number = parent[number]
            return number

        operands = {number: values_used(self._definitions[number].expression) for number in parent}
        cut = self._cut_places(operands)
        for number, used in operands.items():
            for place, tensor in enumerate(used):
                other = self._number.get(tensor, -1)
                if other in parent and (self._classes[number], place) not in cut:
                    parent[root(other)] = root(number)
        parts: Dict[int, List[int]] = collections.defaultdict(list)
        for number in parent:
            parts[root(number)].append(number)
        return list(parts.values())

    def _cut_places(self, operands: Dict[int, List[str]]) -> Set[Tuple[str, int]]:
        """Returns (class, place) of the operands that come from outside of a network, as they do in one of its uses."""
        seen: Dict[Tuple[str, int], Set[str]] = collections.defaultdict(set)
        users: Counter[Tuple[int, str, int]] = collections.Counter()
        for number, used in operands.items():
            for place, tensor in enumerate(used):
                other = self._number.get(tensor, -1)
                seen[self._classes[number], place].add(self._classes.get(other, ""))
                users[other, self._classes[number], place] += 1
        shared = {(own, place) for (_, own, place), count in users.items() if count > 1}
        return {key for key, classes in seen.items() if len(classes) > 1} | shared

    def _weights(self, members: Sequence[int]) -> Tuple[str, ...]:
        used = [tensor for number in members for tensor in values_used(self._definitions[number].expression)]
        return tuple(self._reads[tensor] for tensor in used if tensor in self._reads)

    def _in_folder(self, order: Sequence[str], group: Sequence[Dict[str, int]]) -> List[str]:
        """Returns the classes of a network without those at its end that no use has in the name scope of its layers."""
        kept = list(order)
        while kept:
            last, outside = kept[-1], 0
            for use in group:
                of_weights = [use[one] for one in kept if self._weights([use[one]])]
                folder = common_folder([self._definitions[number].targets[0] for number in of_weights])
                outside += bool(folder) and not self._definitions[use[last]].targets[0].startswith(folder + "/")
            if not outside or any(self._weights([use[last]]) for use in group):
                break
            kept.pop()
        return kept


def _is_read(definition: Definition) -> bool:
    expression = definition.expression
    return isinstance(expression, Variable) and isinstance(expression.name, str) and len(definition.targets) == 1


def names_without_network(shapes: Dict[str, Tuple[int, ...]]) -> Dict[str, str]:
    """Returns {variable: its name, without the network that it is of where several networks have the same variables}.

    >>> names_without_network({f"{net}/{w}": (2,) for net in ("online", "target") for w in ("w1", "w2", "w3", "w4")})[
    ...     "target/w1"
    ... ]
    '*/w1'

    Args:
      shapes: {variable: its shape}.

    Returns:
      The names.
    """
    whole = common_folder(list(shapes))
    start = len(whole) + 1 if whole else 0
    folders: Dict[str, Dict[str, Tuple[int, ...]]] = collections.defaultdict(dict)
    for name, own in shapes.items():
        folder, _, rest = name[start:].partition("/")
        folders[folder][rest] = own
    alike: Dict[FrozenSet[Tuple[str, Tuple[int, ...]]], List[str]] = collections.defaultdict(list)
    for folder, inside in folders.items():
        if len(inside) >= LEAST_WEIGHTS:
            alike[frozenset(inside.items())].append(folder)
    result = {name: name for name in shapes}
    forms = [(rests, networks) for rests, networks in alike.items() if len(networks) > 1]
    if sum(len(networks) * len(rests) for rests, networks in forms) < MOST_OF_THE_WEIGHTS * len(shapes):
        return result
    for number, (rests, networks) in enumerate(forms, 1):
        form = "*" if number == 1 else f"*{number}"
        for folder in networks:
            result.update((f"{whole}/{folder}/{rest}".strip("/"), f"{form}/{rest}") for rest, _ in rests)
    return result
