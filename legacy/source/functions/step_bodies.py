"""Bodies of unrolled steps: the expressions of a step, with placeholders for what differs from step to step."""

from __future__ import annotations

from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from legacy.source.basics.expressions import Expression, Item, Name, Value, Variable, leaves, replace
from legacy.source.functions.step_series import Series, counting_text, counting_texts, series_between, with_text
from legacy.source.lines.statements import Statement

_OWN, _BEFORE, _ITEM, _SERIES = "<own", "<before", "<item", "<series"
#: For each statement of a step, and each text in it that may count steps: its series, or None if it stays the same.
SeriesOfStep = List[List[Optional[Series]]]


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
      series: {name in the body: text that counts the steps}.
    """

    start: int
    length: int
    turns: int
    body: Tuple[Expression, ...]
    starts: Dict[Tuple[int, int], Expression]
    items: Dict[str, Tuple[str, int]]
    direction: int
    series: Dict[str, Series] = {}


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


def series_of_steps(first: Sequence[Statement], second: Sequence[Statement]) -> Optional[SeriesOfStep]:
    """Returns the series of the texts of two steps that follow each other; None if they differ by more than numbers."""
    found: SeriesOfStep = []
    for one, other in zip(first, second):
        texts = counting_texts(one.expression), counting_texts(other.expression)
        if len(texts[0]) != len(texts[1]):
            return None
        made = [series_between(*pair) if pair[0] != pair[1] else None for pair in zip(*texts)]
        if any(series is None and pair[0] != pair[1] for series, pair in zip(made, zip(*texts))):
            return None
        found.append(made)
    return found


def with_series(body: Sequence[Expression], series: SeriesOfStep, step: int) -> Tuple[List[Expression], SeriesOfStep]:
    """Returns the expressions of a step with names for the texts that count steps, and their series from it on.

    Args:
      body: the expressions.
      series: of the first step's texts.
      step: number of this step; -1 for the one before the first, whose texts may leave a 0 out.

    Returns:
      The expressions, in which texts stay that do not go on, and the series.
    """
    made = [_counted(expression, row, own, step) for row, (expression, own) in enumerate(zip(body, series))]
    return [expression for expression, _ in made], [begun for _, begun in made]


def _counted(
    expression: Expression, row: int, series: Sequence[Optional[Series]], step: int
) -> Tuple[Expression, List[Optional[Series]]]:
    """Returns one expression of a step with names for the texts that count steps, and their series; see above."""
    left = iter(enumerate(series))
    begun: List[Optional[Series]] = []

    def counted(part: Expression) -> Optional[Expression]:
        text = counting_text(part)
        number, one = next(left, (0, None)) if text is not None else (0, None)
        if text is None:
            return None
        before = one.before(text) if one is not None and step < 0 else one
        begun.append(before)
        fits = one is not None and before is not None and (step < 0 or one.at(step) == text)
        return with_text(part, f"{_SERIES} {row} {number}>") if fits else None

    return replace(expression, counted), begun


def series_taken(series: SeriesOfStep) -> Dict[str, Series]:
    """Returns {name in a body: series} of the texts that count steps."""
    numbered = [(row, n, one) for row, own in enumerate(series) for n, one in enumerate(own)]
    return {f"{_SERIES} {row} {n}>": one for row, n, one in numbered if one is not None}


def counts_steps(body: Iterable[Expression]) -> bool:
    """Returns whether a body takes items of lists, or has texts that count the steps."""
    parts = [part for one in body for part in leaves(one)]
    named = [part.text for part in parts if isinstance(part, Name)]
    found: List[str] = []
    for one in body:
        replace(one, lambda part: found.append(part.key) if isinstance(part, Item) else None)
    return any(text.startswith((_ITEM, _SERIES)) for text in [*named, *found])


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
