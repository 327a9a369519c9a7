"""Bodies of unrolled steps: the expressions of a step, with placeholders for what differs from step to step."""

from __future__ import annotations

from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from legacy.source.basics.expressions import Expression, Name, Value, Variable, leaves, replace
from legacy.source.lines.statements import Statement

_OWN, _BEFORE, _ITEM = "<own", "<before", "<item"


class Unrolled(NamedTuple):
    """Steps that are unrolled in some statements.

    Attributes:
      start: number of the first statement.
      length: number of the statements of one step.
      turns: number of steps.
      body: the expressions of a step; names stand for the step's own results, those of the step before, and items.
      starts: {(statement, result): what the first step takes in place of the result of a step before}.
      items: {name in the body: (target of the list's statement, number of the item in the first step)}.
      direction: 1 or -1, by which items go on from step to step.
    """

    start: int
    length: int
    turns: int
    body: Tuple[Expression, ...]
    starts: Dict[Tuple[int, int], Expression]
    items: Dict[str, Tuple[str, int]]
    direction: int


def own_name(statement: int, result: int) -> Name:
    """Returns what stands in a body for a result of the same step."""
    return Name(f"{_OWN} {statement} {result}>")


def before_name(statement: int, result: int) -> Name:
    """Returns what stands in a body for a result of the step before."""
    return Name(f"{_BEFORE} {statement} {result}>")


class StepResult(NamedTuple):
    """A result of a step that a body takes.

    Attributes:
      key: numbers of the statement and of its result.
      is_before: whether it is that of the step before.
    """

    key: Tuple[int, int]
    is_before: bool


def result_of_step(part: Expression) -> Optional[StepResult]:
    """Returns the result that stands as a name in a body; None of any other expression.

    >>> result_of_step(before_name(1, 0)), result_of_step(Name("x"))
    (StepResult(key=(1, 0), is_before=True), None)
    """
    if not isinstance(part, Name) or not part.text.startswith((_OWN, _BEFORE)):
        return None
    _, statement, result = part.text[1:-1].split()
    return StepResult((int(statement), int(result)), part.text.startswith(_BEFORE))


def results_before(expression: Expression) -> List[Tuple[int, int]]:
    """Returns the statements and results of the step before that a body takes."""
    results = [result_of_step(leaf) for leaf in leaves(expression)]
    return [result.key for result in results if result is not None and result.is_before]


def items_taken(body: Iterable[Expression]) -> Dict[str, Tuple[str, int]]:
    """Returns {name in a body: (first tensor of its list, number of the item)} of the items that a body takes."""
    names = [leaf.text for one in body for leaf in leaves(one) if isinstance(leaf, Name)]
    parts = {name: name[1:-1].split() for name in names if name.startswith(_ITEM)}
    return {name: (first, int(number)) for name, (_, first, number) in parts.items()}


def body_of_step(
    statements: Sequence[Statement], items: Dict[str, Tuple[str, int]], start: int, length: int, shift: int
) -> List[Expression]:
    """Returns the expressions of a step, with names for what differs from step to step.

    Args:
      statements: of the function.
      items: {tensor: (first one of its list, its number)}.
      start: number of the step's first statement.
      length: of a step.
      shift: number by which the items go on from those of the first step.

    Returns:
      The expressions.
    """
    names: Dict[str, Name] = {}
    for number, one in enumerate(last_statements(statements, start, length)):
        names.update((target, before_name(number, place)) for place, target in enumerate(one.targets))
    for number, one in enumerate(statements[start : start + length]):
        names.update((target, own_name(number, place)) for place, target in enumerate(one.targets))

    def named(part: Expression) -> Optional[Expression]:
        if not isinstance(part, Value):
            return None
        if part.tensor in names:
            return names[part.tensor]
        if part.tensor in items:
            first, number = items[part.tensor]
            return Name(f"{_ITEM} {first} {number - shift}>")
        return None

    return [replace(one.expression, named) for one in statements[start : start + length]]


def asks(statement: Statement) -> bool:
    """Returns whether a statement does no more than to ask for a variable."""
    return isinstance(statement.expression, Variable) and len(statement.targets) == 1


def last_statements(statements: Sequence[Statement], end: int, length: int) -> List[Statement]:
    """Returns the last statements before one, without those that ask for a variable.

    Args:
      statements: of the function.
      end: number of the one.
      length: number of statements.

    Returns:
      The statements; fewer at the function's beginning.
    """
    found: List[Statement] = []
    while end > 0 and len(found) < length:
        end -= 1
        found += [statements[end]] if not asks(statements[end]) else []
    return found[::-1]
