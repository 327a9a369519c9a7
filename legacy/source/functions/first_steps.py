"""The first of unrolled steps, which uses other values, such as zeros, in place of the results of a step before it."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from legacy.source.basics.expressions import (
    Expression,
    Item,
    Name,
    Value,
    children,
    leaves,
    values_used,
    with_children,
)
from legacy.source.functions.step_bodies import (
    SeriesOfStep,
    asks,
    body_of_step,
    items_taken,
    result_of_step,
    with_series,
)
from legacy.source.lines.statements import Statement

#: Most statements that stand between those of a first step.
MOST_BETWEEN = 24


class FirstSteps(NamedTuple):
    """Steps before a second one, the first of which takes other values in place of a step's before it.

    Attributes:
      rows: numbers of their statements.
      starts: {(statement, result): what the first one takes}.
      series: of the texts that count steps, from the first one on.
    """

    rows: List[int]
    starts: Dict[Tuple[int, int], Expression]
    series: SeriesOfStep


class KnownStep(NamedTuple):
    """A step that is known, and of which the steps before it are looked for.

    Attributes:
      statements: of the function.
      items: {tensor: (first one of its list, its number)}.
      position: number of the step's first statement.
      body: expressions of the step.
      direction: of the items.
      series: of the step's texts.
    """

    statements: Sequence[Statement]
    items: Dict[str, Tuple[str, int]]
    position: int
    body: Sequence[Expression]
    direction: int
    series: SeriesOfStep


def first_steps(second: KnownStep) -> FirstSteps:
    """Finds the steps before a second one: each further one has to compute the values that the one after it uses.

    The result has no rows if there are no such steps.
    """
    statements, length = second.statements, len(second.body)
    found = FirstSteps([], {}, second.series)
    while True:
        start, turn = (found.rows[0] if found.rows else second.position), len(found.rows) // length + 1
        after = second._replace(position=start, direction=second.direction * turn, series=found.series)
        one = first_step(after)
        if one is None:
            return found
        made = {target for number in one.rows for target in statements[number].targets}
        rows = [*one.rows, *found.rows]
        between = [statements[n] for n in range(rows[0], second.position) if n not in rows]
        takes = any(made & set(values_used(other.expression)) for other in between)
        results = {key: Value(statements[one.rows[key[0]]].targets[key[1]]) for key in found.starts}
        if takes or results != found.starts:
            return found
        found = FirstSteps(rows, one.starts, one.series)


def first_step(second: KnownStep) -> Optional[FirstSteps]:
    """Finds the step before a second one; None if there is none.

    Between its statements may stand others, which must not use its results.
    """
    statements, items, position, body, direction, series = second
    rows: List[int] = []
    number, after = position, statements[position : position + len(body)]
    while number > 0 and len(rows) < len(body) and position - number < len(body) + MOST_BETWEEN:
        number -= 1
        wanted, one = len(body) - 1 - len(rows), statements[number]
        is_alike = len(one.targets) == len(after[wanted].targets) and _head(one.expression) == _head(
            after[wanted].expression
        )
        rows += [number] if is_alike and not asks(one) else []
    rows = rows[::-1]
    own = [statements[number] for number in rows]
    made = {target for one in own for target in one.targets}
    between = [one for n, one in enumerate(statements[number:position], number) if n not in rows]
    if len(rows) < len(body) or any(made & set(values_used(one.expression)) for one in between):
        return None
    taken: Dict[Tuple[int, int], Expression] = {}
    counted, begun = with_series(body_of_step(own, items, 0, len(body), -direction), series, -1)
    if not all(_fits(one, wanted, taken) for one, wanted in zip(counted, body)):
        return None
    if items_taken(taken.values()) or any(_uses_own(part) or made & set(values_used(part)) for part in taken.values()):
        return None
    return FirstSteps(rows, taken, begun)


def _head(expression: Expression) -> str:
    """Returns the operation of an expression, without its operands and the numbers that may count steps."""
    if isinstance(expression, Item):
        return "Item " + re.sub(r"\d+", "<number>", expression.key)
    for name in ("function", "symbol", "name"):
        if hasattr(expression, name):
            return f"{type(expression).__name__} {getattr(expression, name)}"
    return type(expression).__name__


def _uses_own(expression: Expression) -> bool:
    results = [result_of_step(leaf) for leaf in leaves(expression)]
    return any(result is not None and not result.is_before for result in results)


def _fits(one: Expression, wanted: Expression, taken: Dict[Tuple[int, int], Expression]) -> bool:
    """Returns whether an expression equals another one, with other values in place of the results of the step before.

    These are collected in `taken`.
    """
    result = result_of_step(wanted)
    if result is not None and result.is_before:
        return taken.setdefault(result.key, one) == one
    parts, others = children(one), children(wanted)
    if type(one) is not type(wanted) or len(parts) != len(others):
        return False
    if not parts:
        return one == wanted
    blank = tuple(Name("<part>") for _ in parts)
    if repr(with_children(one, blank)) != repr(with_children(wanted, blank)):
        return False
    return all(_fits(part, other, taken) for part, other in zip(parts, others))
