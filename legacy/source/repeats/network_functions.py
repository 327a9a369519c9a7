"""Functions of networks that are used several times, and the definitions that call them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import (
    Argument,
    Call,
    Definition,
    Value,
    calls,
    replace,
    values_used,
)
from legacy.source.basics.unwritten import Unwritten
from legacy.source.lines.definition_order import Order, asked_for, is_read, updated
from legacy.source.lines.naming import numbered
from legacy.source.lines.statements import Statement
from legacy.source.repeats.abstraction import Function, function_of_blocks
from legacy.source.repeats.network_uses import are_alike, block_of_use, body_of_use
from legacy.source.repeats.networks import Network, find_networks, without_data
from legacy.source.repeats.networks_beside import networks_beside
from legacy.source.repeats.parameters import tensor_name
from legacy.source.repeats.words import network_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from legacy.source.basics.expressions import Expression

#: The most results of a network.
MOST_RESULTS = 4
#: The most parameters of a network's function, besides the scope.
MOST_PARAMETERS = 8


class WithNetworks(NamedTuple):
    """Definitions that call functions of networks.

    Attributes:
      functions: the networks.
      parts: the rest of each part, each definition after those that it uses.
      shapes: {parameter of a function: its shape}.
      updating: results of calls that update statistics, which take turns.
    """

    functions: List[Function]
    parts: List[List[Definition]]
    shapes: Dict[str, Optional[List[int]]]
    updating: Set[str]


class _Written(NamedTuple):
    """A network as a function, with the numbers of the definitions of each use, and the call in their place."""

    function: Function
    members: List[Set[int]]
    calls: List[Definition]
    shapes: Dict[str, Optional[List[int]]]


def with_networks(
    parts: Sequence[Sequence[Definition]], shape: Callable[[str], Optional[List[int]]], batch: int
) -> WithNetworks:
    """Makes a function of each network that is used several times, and of each of the networks beside these.

    Args:
      parts: definitions of several functions, the last one its result; each after those that it uses, and those without
        targets made for their effect.
      shape: returns a tensor's static shape, or None.
      batch: number of examples that the shapes are for.

    Returns:
      The functions and the definitions that call them; no functions if there is no such network.

    Raises:
      Unwritten: no order of the calls makes the updates of statistics in the given order.
    """
    reads = {d.targets[0]: d.expression for part in parts for d in part if is_read(d)}
    definitions = [_with_read(d, reads) for part in parts for d in part]
    counts = list(itertools.accumulate(map(len, parts)))
    program = _Program(definitions, {count - 1 for count in counts}, without_data(definitions), shape, batch)
    written: List[_Written] = []
    ranges = [range(end - len(part), end) for part, end in zip(parts, counts)]
    found = find_networks(definitions, shape, program.free)
    called = {part.function for definition in definitions for part in calls(definition.expression)}
    for network in [*found, *networks_beside(found, ranges, definitions, shape)]:
        made = _write(program, network, {*called, *(one.function.name for one in written)})
        if made is not None:
            written.append(made)
    ordered = [_in_order(definitions, part, written) for part in ranges]
    shapes = {tensor: own for one in written for tensor, own in one.shapes.items()}
    updating = {
        tensor
        for one in written
        for own, made in zip(one.members, one.calls)
        if any(updated(definitions[number]) for number in own)
        for tensor in made.targets
    }
    return WithNetworks([one.function for one in written], ordered, shapes, updating)


class _Program(NamedTuple):
    """All definitions.

    Attributes:
      definitions: these.
      ends: numbers of those that are results.
      free: numbers of those that are computed of neither data nor variables.
      shape: returns a tensor's static shape, or None.
      batch: number of examples that the shapes are for.
    """

    definitions: List[Definition]
    ends: Set[int]
    free: Set[int]
    shape: Callable[[str], Optional[List[int]]]
    batch: int


def _write(program: _Program, network: Network, taken: Set[str]) -> Optional[_Written]:
    """Returns a network as a function; None if its uses differ, or if it would have too many results or parameters."""
    definitions = program.definitions
    users = _users(definitions)
    inside = [_whole_use(program, use.members, users) for use in network.uses]
    places = _results(definitions, network, inside, users)
    if not 0 < len(places) <= MOST_RESULTS:
        return None
    results = [[definitions[use.members[n]].targets[m] for n, m in places] for use in network.uses]
    bodies: List[List[Definition]] = []
    for own, members in zip(results, inside):
        bodies.append(body_of_use(definitions, own, members, bodies[0] if bodies else ()))
    blocks = [block_of_use(body, bodies[0], own) for body, own in zip(bodies, results)]
    if not are_alike(blocks, results):
        return None
    made = function_of_blocks(blocks, results[0], program.shape, program.batch)
    if len(made.function.parameters) > MOST_PARAMETERS:
        return None
    name = numbered(network_name([use.weights for use in network.uses]), taken)
    calls = [Definition(tuple(own), Call(name, arguments)) for own, arguments in zip(results, made.arguments)]
    function, shapes = _with_own_names(
        made.function._replace(name=name, is_network=True), made.arguments[0], program.shape
    )
    return _Written(function, inside, calls, shapes)


def _with_own_names(
    function: Function, arguments: Sequence[Argument], shape: Callable[[str], Optional[List[int]]]
) -> Tuple[Function, Dict[str, Optional[List[int]]]]:
    """Returns a function whose tensors have names of its own, and {parameter: its shape}."""
    given = dict(zip(function.parameters, arguments))
    new = {tensor: f"parameter {name}@{function.name}" for tensor, name in function.tensors.items()}
    shapes = {new[tensor]: shape(tensor_name(given[name].value)) for tensor, name in function.tensors.items()}
    for statement in function.statements:
        new.update((target, f"{target}@{function.name}") for target in statement.targets)

    def renamed(part: Expression) -> Expression | None:
        return Value(new[part.tensor]) if isinstance(part, Value) and part.tensor in new else None

    body = [Statement(tuple(new[t] for t in s.targets), replace(s.expression, renamed)) for s in function.statements]
    tensors = {new[tensor]: name for tensor, name in function.tensors.items()}
    results = [new[result] for result in function.results]
    return function._replace(statements=body, tensors=tensors, results=results), shapes


def _users(definitions: Sequence[Definition]) -> Dict[str, Set[int]]:
    """Returns {tensor: numbers of the definitions that use it}."""
    users: Dict[str, Set[int]] = {}
    for number, definition in enumerate(definitions):
        for tensor in values_used(definition.expression):
            users.setdefault(tensor, set()).add(number)
    return users


def _whole_use(program: _Program, members: Iterable[int], users: Mapping[str, Set[int]]) -> Set[int]:
    """Returns the members of a use, with its weights, what it alone needs besides data, and its updates."""
    own = set(members)
    targets = {target for number in own for target in program.definitions[number].targets}
    for number in reversed(range(len(program.definitions))):
        definition = program.definitions[number]
        used_by = {user for target in definition.targets for user in users.get(target, ())}
        is_own = bool(used_by) and number in program.free and used_by <= own
        is_own = is_own or is_read(definition) and bool(used_by & own)
        if not definition.targets and number not in program.ends:
            is_own = bool(targets & set(values_used(definition.expression)))
        if is_own:
            own.add(number)
    return own


def _results(
    definitions: Sequence[Definition], network: Network, inside: Sequence[Set[int]], users: Dict[str, Set[int]]
) -> List[Tuple[int, int]]:
    """Returns (place among the members, number of the target) of what definitions outside of a use need."""
    found = set()
    for use, own in zip(network.uses, inside):
        for place, number in enumerate(use.members):
            for n, target in enumerate(definitions[number].targets):
                if users.get(target, set()) - own:
                    found.add((place, n))
    return sorted(found)


def _in_order(definitions: Sequence[Definition], part: range, written: Sequence[_Written]) -> List[Definition]:
    """Returns definitions with calls of networks in place of their uses, those first whose updates come first.

    Args:
      definitions: of the program.
      part: numbers of those of one function.
      written: the networks.

    Returns:
      The definitions of the function.

    Raises:
      Unwritten: there is no such order.
    """
    of_use = {number: one.calls[u] for one in written for u, own in enumerate(one.members) for number in own}
    asked = {updated(definitions[number]) for number in of_use} - {""}  # their functions ask for these statistics
    *items, last = [
        definitions[n]
        for n in part
        if (n not in of_use or is_read(definitions[n])) and asked_for(definitions[n]) not in asked
    ]
    calls = list({id(of_use[number]): of_use[number] for number in part if number in of_use}.values())
    turns: Dict[str, List[Definition]] = {}
    for number in part:
        if updated(definitions[number]) and number in of_use:
            turns.setdefault(updated(definitions[number]), []).append(of_use[number])
    if any(updated(definitions[n]) in turns for n in part if n not in of_use):
        raise Unwritten("model: a statistic is updated by uses of a network and by others")
    before: Dict[str, List[str]] = {}
    for uses in turns.values():
        for first, second in itertools.combinations(uses, 2):
            if first is not second:
                before.setdefault(second.targets[0], []).append(first.targets[0])
    order = Order([*items, *calls], before)
    updating = [use.targets[0] for uses in turns.values() for use in uses]
    ordered = order.needed([*values_used(last.expression), *updating])
    return [*order.with_effects(ordered, [item for item in items if not item.targets]), last]


def _with_read(definition: Definition, reads: Mapping[str, Expression]) -> Definition:
    """Returns a definition; one that only names a variable's value asks for the variable itself."""
    value = definition.expression
    if definition.targets or not isinstance(value, Value) or value.tensor not in reads:
        return definition
    return definition._replace(expression=reads[value.tensor])
