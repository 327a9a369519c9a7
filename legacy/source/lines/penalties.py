"""Penalties on weights: they ask the scope for the weights again, so that layers need not hand theirs on."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Counter, Dict, List, Sequence, Set

from legacy.source.basics.expressions import (
    Call,
    Definition,
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
    from legacy.source.basics.expressions import Expression
    from legacy.source.lines.statements import Statement

#: Functions that are penalties if a weight is all that they take.
_PENALTIES = ("tf.nn.l2_loss",)


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
