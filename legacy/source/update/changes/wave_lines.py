"""Lines of a wave: what several variables need comes first."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Counter, Dict, Iterable, List, Sequence, Set, Tuple

from legacy.source.basics.expressions import Definition, Expression, Listing, Name, Value, replace, values_used
from legacy.source.basics.rendering import literal_text
from legacy.source.functions.function_lines import statement_lines
from legacy.source.lines.line_breaks import layout
from legacy.source.lines.naming import name_values
from legacy.source.lines.statements import Statement, build_statements
from legacy.source.update.changes.place import INDENT
from legacy.source.update.changes.towers import with_lists, with_sums_in_order
from legacy.source.update.changes.weight_loops import loop_head, with_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.definitions.recovery import Recovery
    from legacy.source.update.changes.per_weight import WeightValue
    from legacy.source.update.changes.place import Place

#: Names that a train op's function has for something else.
_TAKEN = {
    "!" + name: name
    for name in (
        "values",
        "variables",
        "gradients",
        "losses",
        "name",
        "context",
        "loss",
        "factor",
        "combined",
        "names",
        "turns",
    )
}
#: Stands for what the last one of some lines is assigned to.
_RESULT = "!result"


def shared_definitions(
    recovery: Recovery, calls: Sequence[Sequence[Expression]]
) -> Tuple[List[List[Definition]], Set[str]]:
    """Returns the definitions that each unit's changes need, and the tensors that several units need."""
    needed = [[d for d in recovery.ordered(own) if not isinstance(d.expression, Name)] for own in calls]
    users: Counter[str] = collections.Counter(d.targets[0] for own in needed for d in own)
    return needed, {target for own in needed for d in own if users[d.targets[0]] > 1 for target in d.targets}


def values_lines(place: Place, recovery: Recovery, values: Sequence[WeightValue]) -> Tuple[List[str], Dict[str, str]]:
    """Writes a dict of values of single weights; those that are alike are made in a loop.

    Args:
      place: of the lines.
      recovery: of the values; what several of them need becomes a name in it.
      values: the values.

    Returns:
      The lines, which begin with what several values need, and {tensor: name} of that.
    """
    used = dict.fromkeys(tensor for value in values for tensor in values_used(value.expression))
    first: Dict[str, str] = {}  # of those that are computed alike, such as by each tower
    same = {}
    for tensor in used:
        definition = recovery.definition(tensor)
        assert definition is not None
        same[tensor] = first.setdefault(repr(definition.expression), tensor) if len(definition.targets) == 1 else tensor
    lines, named_first = _named_lines(place, recovery, dict.fromkeys(same.values()))
    names = {tensor: named_first[alike] for tensor, alike in same.items()}
    for tensor, name in names.items():
        recovery.redefine(tensor, Definition((tensor,), Name(name)))

    def named(part: Expression) -> Expression | None:
        return Name(names[part.tensor]) if isinstance(part, Value) else None

    opened = [value._replace(expression=replace(value.expression, named)) for value in values]
    return lines + _dict_lines(place, opened), names


def _dict_lines(place: Place, values: Sequence[WeightValue]) -> List[str]:
    """Returns the lines of a dict of values of single weights."""
    alike: Dict[str, Tuple[Expression, List[WeightValue]]] = collections.OrderedDict()  # by text: lists have no hash
    for value in values:
        opened = value._replace(expression=with_lists(with_sums_in_order(value.expression), place.plan.towers))
        general = with_name(opened.expression, value.owner)
        alike.setdefault(repr(general), (general, []))[1].append(opened)
    lines = [f"{place.indent}{place.dict_name} = {{}}"] if values else []
    for general, own in alike.values():
        if len(own) == 1:
            key = literal_text(own[0].owner)
            lines += layout(f"{place.dict_name}[{key}] = ", own[0].expression, "", len(place.indent))
        else:
            lines += loop_head(place, [value.owner for value in own])
            lines += layout(f"{place.dict_name}[name] = ", general, "", len(place.indent + INDENT))
    return lines


def own_lines(
    definitions: Sequence[Definition],
    towers: int,
    names: Mapping[str, str],
    indent: int,
    result: str = "",
) -> List[str]:
    """Returns the lines of some definitions.

    Args:
      definitions: in order.
      towers: number of towers.
      names: {tensor: name} of the values that other lines compute.
      indent: columns that the lines are indented by.
      result: what the last definition, which has no targets, is assigned to in the text; "" for nothing.

    Returns:
      The lines.
    """
    statements = _statements(definitions, towers)
    taken = {**names, **_TAKEN}
    named = name_values(statements, list(taken), taken, lambda tensor: None)
    if result:
        statements = [*statements[:-1], statements[-1]._replace(targets=(_RESULT,))]
    return statement_lines(statements, {**named, _RESULT: result}, indent)


def common_lines(
    place: Place,
    recovery: Recovery,
    calls: Sequence[Sequence[Expression]],
    needed: Sequence[Sequence[Definition]],
    shared: Set[str],
) -> Tuple[List[str], Dict[str, str]]:
    """Writes what several units need.

    Args:
      place: of the lines.
      recovery: of all units.
      calls: the changes of each unit.
      needed: the definitions that each unit needs.
      shared: tensors that several units need.

    Returns:
      The lines, and {tensor: name} of what the units take from them.
    """
    expressions = [one for own in calls for one in own]
    expressions += [d.expression for own in needed for d in own if d.targets[0] not in shared]
    tensors = dict.fromkeys(tensor for one in expressions for tensor in values_used(one) if tensor in shared)
    return _named_lines(place, recovery, tensors, expressions)


def _named_lines(
    place: Place, recovery: Recovery, tensors: Iterable[str], users: Sequence[Expression] = ()
) -> Tuple[List[str], Dict[str, str]]:
    """Returns the lines that compute tensors and give each a name, by what `users` take it for, and {tensor: name}."""
    ends = list(tensors)
    if not ends:
        return [], {}
    twice = Listing(tuple(Value(tensor) for tensor in ends for _ in range(2)))  # so that each has a line
    statements = _statements([*recovery.ordered([twice]), Definition((), twice)], place.plan.towers)[:-1]
    taken = {**place.reserved, **_TAKEN}
    names = name_values(statements, [*ends, *taken], taken, recovery.shape, users=users)
    return statement_lines(statements, names, len(place.indent)), {tensor: names[tensor] for tensor in ends}


def _statements(definitions: Sequence[Definition], towers: int) -> List[Statement]:
    """Returns statements in which what is given stands by its name, and what all towers have is a list."""
    given = {d.targets[0]: d.expression for d in definitions if len(d.targets) == 1 and isinstance(d.expression, Name)}

    def opened(expression: Expression) -> Expression:
        named = replace(expression, lambda part: given.get(part.tensor) if isinstance(part, Value) else None)
        return with_lists(with_sums_in_order(named), towers)

    listed = [d._replace(expression=opened(d.expression)) for d in definitions]
    return [s._replace(expression=with_lists(s.expression, towers)) for s in build_statements(listed)]
