"""Loops over weights: lines that are alike but for a weight's name, with `name` in its place."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence, Tuple

from legacy.source.basics.expressions import Expression, Literal, Name, replace
from legacy.source.basics.rendering import literal_text
from legacy.source.lines.line_breaks import WIDTH, item_lines, layout
from legacy.source.update.changes.groups import text_of_group, text_of_part
from legacy.source.update.changes.partners import of_listed_partners, partner_text
from legacy.source.update.changes.place import INDENT

if TYPE_CHECKING:
    from legacy.source.update.changes.place import Place
    from workloads.lifted.plan import Plan

_KEY = re.compile(r'\["([^"]*)"\]')
#: Name of the weights of a loop, where another one is over those that it leaves out.
NAMES = "names"
#: Beginning of a part of a list of weights.
_PART = "[name for name in "
#: Name of the table of slots whose names do not contain their weights': {weight: slots}.
SLOTS_OF = "SLOTS_OF"


def slots_by_weight(plan: Plan) -> Dict[str, Tuple[str, ...]]:
    """Returns {weight: slots} of those slots whose names a text cannot make of their weights' names."""
    found: Dict[str, Tuple[str, ...]] = collections.OrderedDict()
    for variable in plan.variables:
        key = f"[{literal_text(variable.name)}]"
        if variable.role == "slot" and variable.of and of_name(key, variable.of) == key:
            found[variable.of] = (*found.get(variable.of, ()), variable.name)
    return found


class Body(NamedTuple):
    """The lines of one unit: as those of a loop, with `name` for the owner's name, and as they are."""

    owner: str
    looped: Tuple[str, ...]
    plain: List[str]


def with_name(expression: Expression, owner: str, slots: Sequence[str] = ()) -> Expression:
    """Returns an expression with `name` in place of the owner's name.

    Args:
      expression: the expression.
      owner: the weight.
      slots: see `of_name`.

    Returns:
      The expression.
    """
    return replace(expression, lambda part: Name(of_name(part.text, owner, slots)) if isinstance(part, Name) else None)


def of_name(line: str, owner: str, slots: Sequence[str] = ()) -> str:
    """Returns a text with `name` in place of the owner's name.

    >>> of_name('variables["net/w/Adam"].assign(values["net/w"])', "net/w")
    'variables[name + "/Adam"].assign(values[name])'
    >>> of_name('variables["Variable_1"].assign(values["net/w"])', "net/w", ["Variable_1"])
    'variables[SLOTS_OF[name][0]].assign(values[name])'

    Args:
      line: the text.
      owner: the weight.
      slots: its slots whose names do not contain its own, in the order of the table of such slots.

    Returns:
      The text.
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
        if text in slots:
            return f"[{SLOTS_OF}[name][{slots.index(text)}]]"
        return f"[{partner_text(owner, text)}]" if partner_text(owner, text) else match.group(0)

    return _KEY.sub(key, line)


def looped(place: Place, bodies: Sequence[Body]) -> List[str]:
    """Returns the lines of all units: those that are alike but for the owner's name as a loop over the owners."""
    alike: Dict[Tuple[str, ...], List[Body]] = collections.OrderedDict()
    for body in bodies:
        alike.setdefault(body.looped, []).append(body)
    bodies_of = {
        general: of_listed_partners(general, [body.owner for body in own], place.groups)
        for general, own in alike.items()
        if len(own) > 1
    }
    loops = [owners for _, owners in bodies_of.values()]
    heads = dict(zip(loops, _loop_heads(place, loops)))
    lines: List[str] = []
    for general, own in alike.items():
        if len(own) == 1:
            lines += own[0].plain
        else:
            looped_lines, owners = bodies_of[general]
            lines += heads[owners] + looped_lines
    return lines


def _loop_heads(place: Place, loops: Sequence[Tuple[str, ...]]) -> List[List[str]]:
    """Returns the first lines of loops over weights, of which one may be over those that another one leaves out."""
    heads = [loop_head(place, own) for own in loops]
    others = [
        (number, first, group)
        for number, own in enumerate(loops)
        if not text_of_group(own, place.groups) and _PART not in heads[number][0]
        for first in range(number)
        for group, weights in place.groups.items()
        if sorted(own + loops[first]) == sorted(weights)
    ]
    if others:  # one pair is enough to be read
        number, first, group = others[0]
        made = layout(f"{NAMES} = ", Literal(list(loops[first])), "", len(place.indent))
        heads[first] = [*made, f"{place.indent}for name in {NAMES}:"]
        heads[number] = [f"{place.indent}for name in [name for name in {group} if name not in {NAMES}]:"]
    return heads


def loop_head(place: Place, owners: Sequence[str]) -> List[str]:
    """Returns the first lines of a loop over weights: by the name of their group, or one by one."""
    name = text_of_group(owners, place.groups)
    if name:
        return [f"{place.indent}for name in {name}:"]
    line = f"{place.indent}for name in {literal_text(tuple(owners))}:"
    if len(line) <= WIDTH:
        return [line]
    part = text_of_part(owners, place.groups)
    if part:
        return [f"{place.indent}for name in {part}:"]
    return [f"{place.indent}for name in (", *item_lines(owners, len(place.indent + INDENT)), f"{place.indent}):"]
