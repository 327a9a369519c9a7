"""Penalties on weights: they ask the scope for the weights again, so that layers need not hand theirs on."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Counter, Dict, List, Sequence, Set

from legacy.source.basics.expressions import (
    Call,
    Definition,
    Expression,
    Infix,
    Listing,
    Literal,
    Value,
    Variable,
    call,
    calls,
    leaves,
    replace,
    values_used,
)
from legacy.source.lines.statements import GET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.lines.statements import Statement

#: Functions that are penalties if a weight is all that they take.
_PENALTIES = ("tf.nn.l2_loss",)
#: So many penalties that are added one after the other are a sum.
LEAST = 3


def penalties_ask_again(definitions: Sequence[Definition]) -> List[Definition]:
    """Returns definitions in which a penalty asks by name for the weight of a layer, just before it is used.

    A weight with two uses would be a value of the whole model: its layer could be no function, or would return it. Of a
    gradient of two parts the sum has the same bits in either order; weights with more uses stay as they are.

    Args:
      definitions: each after those that it uses.

    Returns:
      The definitions.
    """
    uses: Counter[str] = collections.Counter()
    for definition in definitions:
        uses.update(values_used(definition.expression))
    reads = {d.targets[0]: d.expression for d in definitions if d.targets and isinstance(d.expression, Variable)}
    names = {tensor: read.name for tensor, read in reads.items() if uses[tensor] == 2 and isinstance(read.name, str)}

    def by_name(part: Expression) -> Expression | None:
        return call(GET, names[part.tensor]) if isinstance(part, Value) and part.tensor in names else None

    changed = [d._replace(expression=replace(d.expression, by_name)) if _is_penalty(d) else d for d in definitions]
    return _late(changed, {target for d, old in zip(changed, definitions) if d != old for target in d.targets})


def _is_penalty(definition: Definition) -> bool:
    expression = definition.expression
    return isinstance(expression, Call) and expression.function in _PENALTIES


def _late(definitions: Sequence[Definition], late: Set[str]) -> List[Definition]:
    """Returns definitions in which some targets, and what is made of them alone, come just before their first use."""
    waiting: Dict[str, Definition] = {}
    result: List[Definition] = []

    def bring(tensor: str) -> None:
        if tensor in waiting:
            definition = waiting.pop(tensor)
            for other in values_used(definition.expression):
                bring(other)
            result.append(definition)

    for definition in definitions:
        used = values_used(definition.expression)
        if len(definition.targets) == 1 and (late & set(definition.targets) or used and late.issuperset(used)):
            late |= set(definition.targets)
            waiting[definition.targets[0]] = definition
            continue
        for tensor in used:
            bring(tensor)
        result.append(definition)
    return result


def sum_penalties(definitions: Sequence[Definition]) -> List[Definition]:
    """Returns definitions in which penalties that are added one after the other are terms of one sum.

    Python's sum adds in the same order; it begins with 0, which changes no bit.

    Args:
      definitions: each after those that it uses.

    Returns:
      The definitions.
    """
    uses = collections.Counter(tensor for definition in definitions for tensor in values_used(definition.expression))
    once = {
        d.targets[0]: d.expression
        for d in definitions
        if len(d.targets) == 1 and uses[d.targets[0]] == 1 and not isinstance(d.expression, Variable)
    }
    sums = [d.expression for d in definitions if isinstance(d.expression, Infix) and d.expression.symbol == "+"]
    begun = {one.left.tensor for one in sums if isinstance(one.left, Value)}
    taken: Set[str] = set()
    result: List[Definition] = []
    for definition in definitions:
        terms = _terms(definition.expression, once)
        whole = [_opened(term, once) for term in terms]
        least = LEAST - (terms[0] == Literal(0.0))  # a sum that begins with 0 is one of the program's
        goes_on = any(target in begun and target in once for target in definition.targets)
        if sum(map(_has_penalty, whole)) >= least and not goes_on:
            kept = [one if _has_penalty(one) else term for term, one in zip(terms, whole)]
            kept = kept[1:] if kept[0] == Literal(0.0) else kept
            made = call("sum", Listing(tuple(kept)))
            taken |= _reached(definition.expression, once) - _reached(made, once)
            definition = definition._replace(expression=made)
        result.append(definition)
    return [d for d in result if not taken.intersection(d.targets)]


def _has_penalty(expression: Expression) -> bool:
    return any(part.function in _PENALTIES for part in calls(expression))


def _terms(expression: Expression, once: Mapping[str, Expression]) -> List[Expression]:
    """Returns the terms of a sum that is made from left to right, of definitions that are used once."""
    made = once.get(expression.tensor) if isinstance(expression, Value) else expression
    if isinstance(made, Infix) and made.symbol == "+":
        return [*_terms(made.left, once), made.right]
    return [expression]


def _opened(expression: Expression, once: Mapping[str, Expression]) -> Expression:
    """Returns an expression with definitions that are used once in their places."""

    def own(part: Expression) -> Expression | None:
        return _opened(once[part.tensor], once) if isinstance(part, Value) and part.tensor in once else None

    return replace(expression, own)


def _reached(expression: Expression, once: Mapping[str, Expression]) -> Set[str]:
    """Returns the tensors that an expression uses and that are used once, and those that these use."""
    found = {tensor for tensor in values_used(expression) if tensor in once}
    return found.union(*(_reached(once[tensor], once) for tensor in found))


def with_shapes_first(statements: Sequence[Statement], definitions: Sequence[Definition]) -> List[Statement]:
    """Returns statements in which a variable that is asked for by name alone was asked for before, with its shape.

    Args:
      statements: built from the definitions.
      definitions: before penalties asked again.

    Returns:
      The statements; what stands before its layer asks with the shape, too.
    """
    reads = {d.expression.name: d.expression for d in definitions if isinstance(d.expression, Variable)}
    known: Set[str] = set()
    result: List[Statement] = []

    def in_full(part: Expression) -> Expression | None:
        name = _name(part)
        return reads[name] if name and name not in known else None

    for statement in statements:
        early = any(_name(part) not in known for part in calls(statement.expression) if _name(part))
        result.append(statement._replace(expression=replace(statement.expression, in_full)) if early else statement)
        found = [leaf.name for leaf in leaves(statement.expression) if isinstance(leaf, Variable)]
        known.update(name for name in found if isinstance(name, str))
    return result


def _name(part: Expression) -> str:
    """Returns the name of the variable that a part asks for by name alone; "" if it is something else."""
    if not isinstance(part, Call) or part.function != GET:
        return ""
    (argument,) = part.arguments
    return str(argument.value.value) if isinstance(argument.value, Literal) else ""
