"""Values that an update has for each weight and that all its changes need, as for a norm of all gradients: a dict."""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Counter, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import Call, Definition, Listing, Name, Value, replace, values_used
from legacy.source.basics.rendering import expression_text, literal_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from legacy.source.basics.expressions import Expression
    from legacy.source.definitions.recovery import Recovery
    from legacy.source.update.changes.waves import Unit
    from workloads.lifted.plan import Effect

#: Name of the dict in the text.
DICT = "combined"
#: Fewer items of a list that are alike stay as they are.
_FEWEST_ALIKE = 3


class WeightValue(NamedTuple):
    """A weight's value in the dict.

    Attributes:
      owner: the weight.
      tensor: of the old graph.
      expression: computes it.
    """

    owner: str
    tensor: str
    expression: Expression


def take_out_values(
    recovery: Recovery,
    owners: Sequence[str],
    calls: Sequence[Sequence[Expression]],
    shared: Set[str],
    values_dict: str = DICT,
) -> List[WeightValue]:
    """Finds the values of single weights that other weights' changes need too, and gives them names.

    Args:
      recovery: of the update; those values become items of the dict in it.
      owners: the weight of each unit of changes.
      calls: the changes of each unit.
      shared: tensors that more than one unit needs.
      values_dict: name of the dict.

    Returns:
      The values, one a weight, in terms of what several of them need; none if not all weights have one.
    """
    used = [_used_directly(recovery, own, shared) for own in calls]
    users: Counter[str] = collections.Counter(tensor for own in used for tensor in own)
    single = [[tensor for tensor in own if users[tensor] == 1] for own in used]
    taken = [(owner, own[0]) for owner, own in zip(owners, single) if len(own) == 1]
    needed = {tensor: recovery.ordered([Value(tensor)]) for _, tensor in taken}
    common: Counter[str] = collections.Counter(d.targets[0] for own in needed.values() for d in own)
    if len(taken) < 2 or any(common[tensor] > 1 for _, tensor in taken):
        return []
    alone = _given(needed) | {target for target, count in common.items() if count == 1}
    found = [WeightValue(owner, tensor, _inlined(recovery, Value(tensor), alone)) for owner, tensor in taken]
    for value in found:
        recovery.redefine(
            value.tensor, Definition((value.tensor,), Name(f"{values_dict}[{literal_text(value.owner)}]"))
        )
    return found


def take_out_gradients(
    recovery: Recovery,
    units: Sequence[Unit],
    calls: Sequence[Sequence[Expression]],
    general: Callable[[Expression, str], Expression],
    values_dict: str = DICT,
) -> List[WeightValue]:
    """Finds the gradients of weights whose updates are alike but for these, and gives them names.

    So a penalty on some weights does not part their updates from those of the others.

    Args:
      recovery: of the update; those gradients become items of the dict in it.
      units: the changes, one weight each.
      calls: the changes of each unit.
      general: function from an expression and its weight to the expression for any weight.
      values_dict: name of the dict.

    Returns:
      The gradients; none if all that are alike but for them have the same ones.
    """
    alike: Dict[Tuple[Expression, ...], List[Tuple[str, str]]] = collections.OrderedDict()
    for unit, own in zip(units, calls):
        tensors = {value.tensor for effect, call in zip(unit.effects, own) for value in _gradient(effect, call)}
        if len(tensors) == 1:
            tensor = tensors.pop()
            rest = [general(replace(call, _in_place_of(tensor, Name(values_dict))), unit.owner) for call in own]
            alike.setdefault(tuple(rest), []).append((unit.owner, tensor))
    needed = {tensor: recovery.ordered([Value(tensor)]) for own in alike.values() for _, tensor in own}
    common: Counter[str] = collections.Counter(d.targets[0] for one in needed.values() for d in one)
    alone = _given(needed) | {target for target, count in common.items() if count == 1}
    found: List[WeightValue] = []
    for group in alike.values():
        values = [WeightValue(owner, tensor, _inlined(recovery, Value(tensor), alone)) for owner, tensor in group]
        if len({general(value.expression, value.owner) for value in values}) > 1:
            found += values
    for value in found:
        name = Name(f"{values_dict}[{literal_text(value.owner)}]")
        recovery.redefine(value.tensor, Definition((value.tensor,), name))
    return found


def _given(needed: Mapping[str, Sequence[Definition]]) -> Set[str]:
    """Returns the tensors that are known by a name, among those that some tensors need."""
    return {d.targets[0] for own in needed.values() for d in own if isinstance(d.expression, Name)}


def _gradient(effect: Effect, call: Expression) -> List[Value]:
    """Returns the gradient among the arguments of an optimizer's kernel, if it is computed by the update."""
    if effect.gradient_at < 0 or not isinstance(call, Call):
        return []
    argument = call.arguments[len(effect.writes) + effect.gradient_at].value
    return [argument] if isinstance(argument, Value) else []


def _in_place_of(tensor: str, name: Name) -> Callable[[Expression], Optional[Expression]]:
    """Returns a function for `replace` that puts a name in place of a tensor."""
    return lambda part: name if isinstance(part, Value) and part.tensor == tensor else None


def _used_directly(recovery: Recovery, calls: Sequence[Expression], shared: Set[str]) -> List[str]:
    """Returns the shared tensors that a unit's own lines name."""
    own = [d for d in recovery.ordered(calls) if d.targets[0] not in shared]
    expressions = [*calls, *(definition.expression for definition in own)]
    return list(dict.fromkeys(t for one in expressions for t in values_used(one) if t in shared))


def _inlined(recovery: Recovery, expression: Expression, alone: Set[str]) -> Expression:
    """Returns an expression with the definitions that only its weight needs in their places."""

    def opened(part: Expression) -> Expression | None:
        definition = recovery.definition(part.tensor) if isinstance(part, Value) else None
        if definition is None or len(definition.targets) > 1 or definition.targets[0] not in alone:
            return None
        return _inlined(recovery, definition.expression, alone)

    return replace(expression, opened)


def list_items(
    recovery: Recovery,
    calls: Sequence[Sequence[Expression]],
    groups: Mapping[str, Sequence[str]],
    computed: bool = True,
) -> None:
    """Puts a comprehension in place of each list of what is done to all weights' values alike.

    Args:
      recovery: of the update; its definitions are changed.
      calls: the changes of each unit.
      groups: {name of a list in the text: the weights in it}.
      computed: whether also of lists of what is computed from these values, and not of the values alone.
    """
    definitions = recovery.ordered([one for own in calls for one in own])
    every = {target for definition in definitions for target in definition.targets}

    def joined(part: Expression) -> Expression | None:
        if not isinstance(part, Listing):
            return None
        items = [_inlined(recovery, item, every) for item in part.items]
        if not computed and not all(isinstance(item, Name) for item in items):
            return None
        if not any(map(values_used, items)):
            whole = comprehension([expression_text(item) for item in items], groups)
            if whole is not None:
                return whole
        return _with_runs(part, ["" if values_used(item) else expression_text(item) for item in items], groups)

    for definition in definitions:
        made = replace(definition.expression, joined)
        if made != definition.expression:
            for target in definition.targets:
                recovery.redefine(target, definition._replace(expression=made))


def _with_runs(listing: Listing, texts: Sequence[str], groups: Mapping[str, Sequence[str]]) -> Listing | None:
    """Returns a list in which the items that are alike for neighbours of a group are generated; None if none are.

    >>> texts = ["x", *(f'f(combined["{name}"])' for name in "bcd")]
    >>> _with_runs(Listing(tuple(map(Name, texts))), texts, {"WEIGHTS": list("abcd")})
    Listing(items=(Name(text='x'), Name(text='*(f(combined[name]) for name in WEIGHTS[1:])')))

    Args:
      listing: the list.
      texts: of its items; "" of one that is named elsewhere.
      groups: {name of a list in the text: the weights in it}.

    Returns:
      The list.
    """
    items: List[Expression] = []
    position = 0
    while position < len(texts):
        runs = [_run(texts[position:], *one) for one in groups.items()]
        group, body, length = max(runs, key=lambda run: run[2], default=("", "", 0))
        made = length >= _FEWEST_ALIKE
        items.append(Name(f"*({body} for name in {group})") if made else listing.items[position])
        position += length if made else 1
    return Listing(tuple(items)) if len(items) < len(texts) else None


def _run(texts: Sequence[str], group: str, weights: Sequence[str]) -> Tuple[str, str, int]:
    """Returns the part of a group whose weights the first texts are of, the text of one, and the number of texts.

    >>> _run(['f(x["b"])', 'f(x["c"])', "y"], "WEIGHTS", ["a", "b", "c"])
    ('WEIGHTS[1:]', 'f(x[name])', 2)
    """
    first = next((n for n, weight in enumerate(weights) if f"[{literal_text(weight)}]" in texts[0]), len(weights))
    keys = [f"[{literal_text(weight)}]" for weight in weights[first:]]
    bodies = [text.replace(key, "[name]") for text, key in zip(texts, keys)]
    length = len(list(itertools.takewhile(lambda body: body == bodies[0] and "[name]" in body, bodies)))
    start, end = str(first or ""), str(first + length if first + length < len(weights) else "")
    return f"{group}[{start}:{end}]" if start or end else group, bodies[0] if bodies else "", length


def comprehension(texts: Sequence[str], groups: Mapping[str, Sequence[str]]) -> Name | None:
    """Returns the list with these items, if they are alike for the weights of a group, in its order.

    >>> comprehension(['f(combined["a"])', 'f(combined["b"])'], {"WEIGHTS": ["a", "b"]})
    Name(text='[f(combined[name]) for name in WEIGHTS]')
    """
    for group, weights in groups.items():
        keys = [f"[{literal_text(weight)}]" for weight in weights]
        bodies = {text.replace(key, "[name]") for text, key in zip(texts, keys)}
        if len(keys) == len(texts) > 1 and len(bodies) == 1 and "[name]" in next(iter(bodies)):
            return Name(f"[{bodies.pop()} for name in {group}]")
    return None
