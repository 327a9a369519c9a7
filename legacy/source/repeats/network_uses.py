"""Uses of a network as blocks of statements, which are alike where one function can be called for all of them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, List, Sequence, Set

from legacy.source.basics.expressions import Definition, Variable, as_expression, replace, values_used
from legacy.source.lines.definition_order import Order, updated
from legacy.source.lines.holes import skeleton
from legacy.source.lines.statements import Statement, build_statements

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression


def body_of_use(
    definitions: Sequence[Definition], results: Sequence[str], members: Set[int], first: Sequence[Definition]
) -> List[Definition]:
    """Returns the definitions of a use, each after those that it needs, and its updates as early as they can be.

    Args:
      definitions: of the program.
      results: of the use.
      members: numbers of its definitions.
      first: the definitions of the first use, in whose order statistics are updated; those of one have no other.

    Returns:
      The definitions.
    """
    own = [definitions[number] for number in sorted(members)]
    order = Order(own)
    turns = {name: turn for turn, name in enumerate(dict.fromkeys(map(updated, first)))}
    updates = sorted((d for d in own if not d.targets), key=lambda d: turns.get(updated(d), len(turns)))
    placed = order.with_effects(order.needed(results), updates)
    asked = {d.expression.name: d for d in definitions if not d.targets and isinstance(d.expression, Variable)}
    known: Set[str] = set()
    body: List[Definition] = []
    for definition in placed:
        name = updated(definition)
        if definition.targets or not isinstance(definition.expression, Variable):
            body += [asked[name]] if name in asked and name not in known else []
            body.append(definition)
            known.add(name)
    return body


def block_of_use(body: Sequence[Definition], first: Sequence[Definition], results: Sequence[str]) -> List[Statement]:
    """Returns the statements of a use, divided into lines as those of the first one, whose variables may be others.

    Args:
      body: the definitions of the use.
      first: those of the first use.
      results: tensors that the use gives.

    Returns:
      The statements.
    """
    variables: Dict[Variable, Variable] = {}
    like_first: List[Definition] = []
    for own, other in zip(body, first):
        both = own.expression, other.expression
        if isinstance(both[0], Variable) and isinstance(both[1], Variable):
            variables[both[1]] = dataclasses.replace(both[0], trainable=as_expression(both[0].trainable))
            own = own._replace(expression=other.expression)
        like_first.append(own)
    statements = build_statements([*like_first, *body[len(like_first) :]], results)

    def own_variable(part: Expression) -> Expression | None:
        return variables.get(part) if isinstance(part, Variable) else None

    return [s._replace(expression=replace(s.expression, own_variable)) for s in statements]


def are_alike(blocks: Sequence[Sequence[Statement]], results: Sequence[Sequence[str]]) -> bool:
    """Returns whether blocks do the same and use their own values at the same places."""
    texts = set()
    for block, own in zip(blocks, results):
        rows = {target: (row, n) for row, s in enumerate(block) for n, target in enumerate(s.targets)}
        skeletons = [skeleton(statement.expression) for statement in block]
        used = [tuple(rows.get(tensor) for tensor in values_used(s.expression)) for s in block]
        texts.add(str(([text for text, _ in skeletons], used, [rows.get(one) for one in own])))
    return len(texts) == 1
