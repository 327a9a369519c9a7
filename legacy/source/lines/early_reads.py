"""Weights that are asked for on a line of their own, before the layer that uses them, so that an order is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence

from legacy.source.basics.expressions import Value, Variable, leaves, replace
from legacy.source.lines.statements import Statement

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression


def early_reads(statements: Sequence[Statement], weights: Sequence[str]) -> Dict[int, List[str]]:
    """Returns {number of a statement: weights that must have a line before it}, as few as are needed.

    Args:
      statements: of a function.
      weights: some that it asks for, in the order in which it shall.

    Returns:
      The weights.
    """
    left, early = list(weights), {}
    for number, statement in enumerate(statements):
        own = [name for name in asked_for([statement]) if name in left]
        due = left[: max((left.index(name) + 1 for name in own), default=0)]
        count = next(n for n in range(len(due) + 1) if [name for name in own if name not in due[:n]] == due[n:])
        early[number] = due[:count]
        left = left[len(due) :]
    return early


def asked_for(statements: Sequence[Statement]) -> Dict[str, Variable]:
    """Returns {name: variable} of the weights in some statements, in the order in which they stand there."""
    found: Dict[str, Variable] = {}
    for statement in statements:
        for leaf in leaves(statement.expression):
            if isinstance(leaf, Variable) and isinstance(leaf.name, str) and leaf.trainable is True:
                found.setdefault(leaf.name, leaf)
    return found


def with_early_lines(
    statements: Sequence[Statement], early: Dict[int, List[str]], variables: Dict[str, Variable]
) -> List[Statement]:
    """Returns statements with a line for each early weight, whose value the others use.

    Args:
      statements: of a function.
      early: see `early_reads`.
      variables: {name: variable} of the weights.

    Returns:
      The statements.
    """
    moved = {name for names in early.values() for name in names}
    lines = {s.expression.name: s for s in statements if isinstance(s.expression, Variable) and len(s.targets) == 1}
    targets = {name: lines[name].targets[0] if name in lines else "!" + name for name in moved}

    def given(part: Expression) -> Expression | None:
        return Value(targets[part.name]) if isinstance(part, Variable) and part.name in targets else None

    result: List[Statement] = []
    for number, statement in enumerate(statements):
        result += [Statement((targets[name],), variables[name]) for name in early[number]]
        if not any(statement is lines.get(name) for name in moved):
            result.append(statement._replace(expression=replace(statement.expression, given)))
    return result
