"""The last of unrolled steps, of which the old graph has a part alone, since nobody takes the results of the rest."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import Expression, Name, Scoped, Value, calls, leaves, replace, values_used
from legacy.source.functions.first_steps import MOST_BETWEEN
from legacy.source.functions.step_bodies import Unrolled
from legacy.source.functions.step_series import counting_text, with_text
from legacy.source.lines.statements import Statement

#: Beginning of the names of results that the old graph does not have.
_ADDED = "!unused"


class _Next(NamedTuple):
    """Parts of a step in place of those of the one before it.

    Attributes:
      values: {tensor: tensor}.
      texts: {text that counts the steps: text}.
    """

    values: Dict[str, str]
    texts: Dict[str, str]


def with_last_step(
    statements: Sequence[Statement], items: Dict[str, Tuple[str, int]], run: Unrolled, end: int
) -> Tuple[List[Statement], Unrolled]:
    """Returns statements in which a last step that lacks some is whole, so that it belongs to the loop.

    What it lacks computes results that nobody takes, as the next state of a decoder after its last word.

    Args:
      statements: of a function.
      items: {tensor: (first one of its list, its number)}.
      run: steps in them.
      end: number of the first statement after them.

    Returns:
      The statements, and the steps; both as they were if no such step follows.
    """
    before, last = (statements[end - n * run.length :][: run.length] for n in (2, 1))
    begun = _next_values(before, last, items, run)
    if begun is None:
        return list(statements), run
    found: Dict[int, int] = {}
    made: List[Statement] = []
    known = {tensor for one in statements[:end] for tensor in one.targets}
    known |= {tensor for one in statements for tensor in values_used(one.expression)} - _made(statements)
    for row, one in enumerate(last):
        wanted = _in_next(one.expression, begun)
        if not known.issuperset(values_used(wanted)):
            return list(statements), run
        place = _place(statements, wanted, len(one.targets), end, run.length)
        if place is None:
            targets = tuple(f"{_ADDED} {target}" for target in one.targets)
        else:
            found[row], targets = place, statements[place].targets
        made.append(Statement(targets, wanted))
        known.update(targets)
        begun.values.update(zip(one.targets, targets))
    rest = [one for n, one in enumerate(statements[end:], end) if n not in found.values()]
    missing = [n for n in range(run.length) if n not in found]
    taken = {tensor for one in rest for tensor in values_used(one.expression)}
    if not found or not missing or any(taken & set(last[n].targets) or _counts(last[n], begun) for n in missing):
        return list(statements), run
    return [*statements[:end], *made, *rest], run._replace(turns=run.turns + 1)


def _next_values(
    before: Sequence[Statement], last: Sequence[Statement], items: Dict[str, Tuple[str, int]], run: Unrolled
) -> Optional[_Next]:
    """Returns what a step takes in place of what the last one takes; None if a text may stand for several.

    Args:
      before: the step before the last one.
      last: the last one.
      items: {tensor: (first one of its list, its number)}.
      run: the steps.

    Returns:
      What it takes, without the results of its own.
    """
    values = {old: new for one, other in zip(before, last) for old, new in zip(one.targets, other.targets)}
    own = _made(last) | set(values)
    numbered = {place: tensor for tensor, place in items.items()}
    for first, number in {items[t] for one in last for t in values_used(one.expression) if t in items and t not in own}:
        if first in {place[0] for place in run.items.values()}:
            values[numbered[first, number]] = numbered.get((first, number + run.direction), _ADDED)
    texts: Dict[str, str] = {}
    for one in run.series.values():
        if texts.setdefault(one.at(run.turns - 1), one.at(run.turns)) != one.at(run.turns):
            return None
    return _Next(values, texts)


def _in_next(expression: Expression, following: _Next) -> Expression:
    """Returns what stands in the next step for an expression of the last one."""

    def shifted(part: Expression) -> Optional[Expression]:
        if isinstance(part, Value):
            return Value(following.values[part.tensor]) if part.tensor in following.values else None
        text = counting_text(part)
        return with_text(part, following.texts[text]) if text in following.texts else None

    return replace(expression, shifted)


def _place(statements: Sequence[Statement], wanted: Expression, results: int, end: int, length: int) -> Optional[int]:
    """Returns the number of the statement soon after some steps that has an expression; None if there is none.

    Args:
      statements: of a function.
      wanted: the expression.
      results: number of its results.
      end: number of the first statement after the steps.
      length: of a step.

    Returns:
      The number.
    """
    for number, one in enumerate(statements[end : end + length + MOST_BETWEEN], end):
        if len(one.targets) == results and repr(one.expression) == repr(wanted):
            return number
    return None


def _counts(statement: Statement, following: _Next) -> bool:
    """Returns whether a statement has a text that counts the steps, or draws: a further step would have none of it."""
    found: List[bool] = []

    def record(part: Expression) -> None:
        text = counting_text(part)
        found.append(isinstance(part, Scoped) or text is not None and text in following.texts)

    replace(statement.expression, record)
    drawn = [leaf for leaf in leaves(statement.expression) if isinstance(leaf, Name) and leaf.text == "scope"]
    return any(found) or bool(drawn) or any(one.function.startswith("scope.") for one in calls(statement.expression))


def _made(statements: Sequence[Statement]) -> Set[str]:
    return {target for one in statements for target in one.targets}
