"""Lines of an update: what several variables need comes first, and what is done to several weights alike is a loop."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Counter, Dict, List, NamedTuple, Sequence, Set, Tuple

from legacy.source.basics.cut import Cut, cut_part, variable_of
from legacy.source.basics.expressions import Definition, Expression, Listing, Method, Name, Value, replace, values_used
from legacy.source.basics.forward import Forward
from legacy.source.basics.rendering import WIDTH, item_lines, layout, literal_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.recovery import Names, Recovery
from legacy.source.lines.functions import statement_lines
from legacy.source.lines.naming import name_values
from legacy.source.lines.statements import Statement, build_statements
from legacy.source.update.changes import change_call, local
from legacy.source.update.groups import text_of_group
from legacy.source.update.per_weight import DICT, WeightValue, list_items, take_out_values
from legacy.source.update.towers import with_lists, with_sums_in_order
from legacy.source.update.waves import Unit, waves_of
from workloads.lifted.pieces.piece import Fetch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Effect, Phase, Plan

_KEY = re.compile(r'\["([^"]*)"\]')
_INDENT = "    "
#: Names that a train op's function has for something else.
_TAKEN = {
    "!" + name: name
    for name in ("values", "variables", "gradients", "losses", "name", "context", "loss", "factor", "combined")
}


class _Body(NamedTuple):
    """The lines of one unit: as those of a loop, with `name` for the owner's name, and as they are."""

    owner: str
    looped: Tuple[str, ...]
    plain: List[str]


def update_lines(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    effects: Sequence[Effect],
    given: Mapping[str, Expression],
    groups: Mapping[str, Sequence[str]],
    made: Mapping[str, int],
) -> List[str]:
    """Writes changes of variables, on `values` before the step and the replica's own `variables`.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      effects: the changes, in order.
      given: {tensor: expression} of what is known before the first change.
      groups: {name of a list in the text: the weights in it}.
      made: {variable: number of its changes} of those that are changed before these lines.

    Returns:
      The lines of a function's body.

    Raises:
      Unwritten: a change cannot be written.
    """
    cuts = [*given, *(tensor for entry in plan.inputs + plan.common for tensor in entry.tensors)]
    lines: List[str] = []
    for units in waves_of(plan, graph, phase, effects, cuts, made):
        lines += _wave_lines(plan, graph, phase, units, given, cuts, groups)
    return lines


def _wave_lines(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    units: Sequence[Unit],
    given: Mapping[str, Expression],
    cuts: Sequence[str],
    groups: Mapping[str, Sequence[str]],
) -> List[str]:
    effects = [effect for unit in units for effect in unit.effects]
    fetches = [Fetch(value, effect.node) for effect in effects for value in effect.values]
    cut = cut_part(plan, graph, fetches, cuts, phase.versions)
    _require_known(cut, effects, given)
    recovery = Recovery(Forward(cut, plan), names_of_variables(plan, given))
    ends = iter(recovery.expression_of(name if ":" in name else name + ":0") for name in cut.fetches)
    calls = [[change_call(graph, e, [next(ends) for _ in e.values]) for e in unit.effects] for unit in units]
    needed, shared = _shared(recovery, calls)
    values = take_out_values(recovery, [unit.owner for unit in units], calls, shared)
    if values:
        list_items(recovery, calls, groups)
        needed, shared = _shared(recovery, calls)
    common, names = _common_lines(plan, recovery, calls, needed, shared)
    common = _values_lines(values, plan.towers, groups) + common
    bodies = []
    for unit, own_calls in zip(units, calls):
        own = [d for d in recovery.ordered(own_calls) if d.targets[0] not in shared]
        own += [Definition((), one) for one in own_calls]
        general = [d._replace(expression=_with_name(d.expression, unit.owner)) for d in own]
        looped = own_lines(general, plan.towers, names, 2 * len(_INDENT))
        bodies.append(_Body(unit.owner, tuple(looped), own_lines(own, plan.towers, names, len(_INDENT))))
    return common + _looped(bodies, groups)


def _shared(recovery: Recovery, calls: Sequence[Sequence[Expression]]) -> Tuple[List[List[Definition]], Set[str]]:
    """Returns the definitions that each unit's changes need, and the tensors that several units need."""
    needed = [[d for d in recovery.ordered(own) if not isinstance(d.expression, Name)] for own in calls]
    users: Counter[str] = collections.Counter(d.targets[0] for own in needed for d in own)
    return needed, {target for own in needed for d in own if users[d.targets[0]] > 1 for target in d.targets}


def _values_lines(values: Sequence[WeightValue], towers: int, groups: Mapping[str, Sequence[str]]) -> List[str]:
    """Returns the lines of a dict of values of single weights; those that are alike are made in a loop."""
    alike: Dict[Expression, List[WeightValue]] = collections.OrderedDict()
    for value in values:
        opened = value._replace(expression=with_lists(with_sums_in_order(value.expression), towers))
        alike.setdefault(_with_name(opened.expression, value.owner), []).append(opened)
    lines = [f"{_INDENT}{DICT} = {{}}"] if values else []
    for general, own in alike.items():
        if len(own) == 1:
            key = literal_text(own[0].owner)
            lines += layout(f"{DICT}[{key}] = ", own[0].expression, "", len(_INDENT))
        else:
            lines += _loop_head([value.owner for value in own], groups)
            lines += layout(f"{DICT}[name] = ", general, "", 2 * len(_INDENT))
    return lines


def own_lines(definitions: Sequence[Definition], towers: int, names: Mapping[str, str], indent: int) -> List[str]:
    """Returns the lines of some definitions.

    Args:
      definitions: in order.
      towers: number of towers.
      names: {tensor: name} of the values that other lines compute.
      indent: columns that the lines are indented by.

    Returns:
      The lines.
    """
    statements = _statements(definitions, towers)
    taken = {**names, **_TAKEN}
    return statement_lines(statements, name_values(statements, list(taken), taken, lambda tensor: None), indent)


def _common_lines(
    plan: Plan,
    recovery: Recovery,
    calls: Sequence[Sequence[Expression]],
    needed: Sequence[Sequence[Definition]],
    shared: Set[str],
) -> Tuple[List[str], Dict[str, str]]:
    """Returns the lines of what several units need, and {tensor: name} of what they take from them."""
    expressions = [one for own in calls for one in own]
    expressions += [d.expression for own in needed for d in own if d.targets[0] not in shared]
    ends = list(dict.fromkeys(tensor for one in expressions for tensor in values_used(one) if tensor in shared))
    if not ends:
        return [], {}
    twice = Listing(tuple(Value(tensor) for tensor in ends for _ in range(2)))  # so that each has a line
    statements = _statements([*recovery.ordered([twice]), Definition((), twice)], plan.towers)[:-1]
    names = name_values(statements, [*ends, *_TAKEN], _TAKEN, recovery.shape)
    return statement_lines(statements, names), {tensor: names[tensor] for tensor in ends}


def _statements(definitions: Sequence[Definition], towers: int) -> List[Statement]:
    """Returns statements in which what is given stands by its name, and what all towers have is a list."""
    given = {d.targets[0]: d.expression for d in definitions if len(d.targets) == 1 and isinstance(d.expression, Name)}

    def opened(expression: Expression) -> Expression:
        named = replace(expression, lambda part: given.get(part.tensor) if isinstance(part, Value) else None)
        return with_lists(with_sums_in_order(named), towers)

    listed = [d._replace(expression=opened(d.expression)) for d in definitions]
    return [s._replace(expression=with_lists(s.expression, towers)) for s in build_statements(listed)]


def names_of_variables(plan: Plan, given: Mapping[str, Expression]) -> Names:
    """Returns what enters an update: values of variables before the step, and what a replica's own ones hold later."""
    before = {v.name: Name(f"values[{literal_text(v.name)}]") for v in plan.variables}
    after = {v.name: Method(local(v.name), "read_value", ()) for v in plan.variables}
    return Names(given, {}, set(), {}, before, after)


def _require_known(cut: Cut, effects: Sequence[Effect], given: Mapping[str, Expression]) -> None:
    """Raises `Unwritten` where an update needs what a tower computes from its data, or random numbers."""
    for feed in cut.piece.feeds:
        if variable_of(feed) is None and str(feed.key) not in given:
            changed = ", ".join(dict.fromkeys(effect.writes[0] for effect in effects[:3]))
            raise Unwritten(f"updates: {str(feed.key)!r} is neither loss nor gradient, and changes {changed}")


def _with_name(expression: Expression, owner: str) -> Expression:
    return replace(expression, lambda part: Name(of_name(part.text, owner)) if isinstance(part, Name) else None)


def of_name(line: str, owner: str) -> str:
    """Returns a text with `name` in place of the owner's name.

    >>> of_name('variables["net/w/Adam"].assign(values["net/w"])', "net/w")
    'variables[name + "/Adam"].assign(values[name])'
    """

    def key(match: re.Match[str]) -> str:
        text = match.group(1)
        if text == owner:
            return "[name]"
        if text.startswith(owner + "/"):
            return f"[name + {literal_text(text[len(owner) :])}]"
        before, found, after = text.partition(owner)
        if found and before[-1:] in ("", "/") and after[:1] in ("", "/", "_"):
            return f'[f"{before}{{name}}{after}"]'
        return match.group(0)

    return _KEY.sub(key, line)


def _looped(bodies: Sequence[_Body], groups: Mapping[str, Sequence[str]]) -> List[str]:
    """Returns the lines of all units: those that are alike but for the owner's name as a loop over the owners."""
    alike: Dict[Tuple[str, ...], List[_Body]] = collections.OrderedDict()
    for body in bodies:
        alike.setdefault(body.looped, []).append(body)
    lines: List[str] = []
    for looped, own in alike.items():
        if len(own) == 1:
            lines += own[0].plain
        else:
            lines += _loop_head([body.owner for body in own], groups)
            lines += looped
    return lines


def _loop_head(owners: Sequence[str], groups: Mapping[str, Sequence[str]]) -> List[str]:
    name = text_of_group(owners, groups)
    if name:
        return [f"{_INDENT}for name in {name}:"]
    line = f"{_INDENT}for name in {literal_text(tuple(owners))}:"
    return [line] if len(line) <= WIDTH else [f"{_INDENT}for name in (", *item_lines(owners, 8), f"{_INDENT}):"]
