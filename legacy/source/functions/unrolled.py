"""Unrolled steps: statements that are repeated, each time with the results of the time before, as those of an RNN."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from legacy.source.basics.expressions import (
    Expression,
    Name,
    Value,
    calls,
    replace,
    values_used,
)
from legacy.source.functions.first_steps import KnownStep, first_step, first_steps
from legacy.source.functions.last_steps import with_last_step
from legacy.source.functions.step_bodies import (
    Unrolled,
    asks,
    body_of_step,
    counts_steps,
    items_taken,
    last_statements,
    results_before,
    series_of_steps,
    series_taken,
    with_series,
)
from legacy.source.functions.step_series import counting_text, with_text
from legacy.source.lines.name_hints import list_name
from legacy.source.lines.statements import Statement, asks_by_name

#: Fewest turns that are a loop, and most statements of a turn.
FEWEST, MOST_STATEMENTS = 4, 24


def unrolled_steps(
    statements: Sequence[Statement], most: int = MOST_STATEMENTS, completes: bool = False
) -> Tuple[List[Statement], List[Unrolled]]:
    """Finds the steps that are unrolled in some statements.

    Args:
      statements: of a function.
      most: statements of a turn.
      completes: whether a last step gets the statements that it lacks, see `with_last_step`.

    Returns:
      The statements, in which what stands between those of the first step comes before it, and the steps.
    """
    result = list(statements)
    found: List[Unrolled] = []
    forms: Dict[str, int] = {}
    outlines = [forms.setdefault(_outline(one), len(forms)) for one in result]
    items = {
        target: (one.targets[0], number)
        for one in result
        if list_name(one)
        for number, target in enumerate(one.targets)
    }
    position = 0
    while position < len(result):
        made = _run_at(result, outlines, items, position, most, completes)
        if made is None:
            position += 1
            continue
        run, position = made.run, made.second
        run, left_at = _with_distant_first(result, items, run)
        found = [one._replace(start=one.start - (one.start > left_at)) for one in found]
        first = made.first if run is made.run else list(range(run.start, position))
        others = [one for n, one in enumerate(result[run.start : position], run.start) if n not in first or asks(one)]
        steps = [one for n, one in enumerate(result[run.start : position], run.start) if n in first and not asks(one)]
        result[run.start : position] = [*others, *steps]
        run = run._replace(start=run.start + len(others))
        if completes:
            result, run = with_last_step(result, items, run, run.start + run.length * run.turns)
        outlines = [forms.setdefault(_outline(one), len(forms)) for one in result]
        found.append(run)
        position = run.start + run.length * run.turns
        items.update(_items_of(run, result))
    return result, found


def _items_of(run: Unrolled, statements: Sequence[Statement]) -> Dict[str, Tuple[str, int]]:
    """Returns {tensor: (first one of its list, its number)} of the results of steps, in the order of their items."""
    steps = [statements[run.start + n * run.length :][: run.length] for n in range(run.turns)][:: run.direction]
    return {
        target: (steps[0][row].targets[place], number)
        for number, step in enumerate(steps)
        for row, one in enumerate(step)
        for place, target in enumerate(one.targets)
    }


class _RunAt(NamedTuple):
    """Steps from a statement on.

    Attributes:
      run: the steps.
      second: number of the first statement that is one of a step like those after it.
      first: numbers of the statements before it that are the first step.
    """

    run: Unrolled
    second: int
    first: List[int]


def _with_distant_first(
    statements: List[Statement], items: Dict[str, Tuple[str, int]], run: Unrolled
) -> Tuple[Unrolled, int]:
    """Returns steps of one statement with the one before them that stands further up, as between those of two ways.

    Args:
      statements: of the function; the step's statement is moved to the others, if nothing in between takes its results.
      items: {tensor: (first one of its list, its number)}.
      run: the steps.

    Returns:
      The steps, and the number that the moved statement had; if none is moved, that of the last one.
    """
    makers = {tensor: number for number, one in enumerate(statements[: run.start]) for tensor in one.targets}
    made = [part.tensor if isinstance(part, Value) else "" for part in run.starts.values()]
    numbers = {makers.get(tensor, -1) for tensor in made}
    if run.length != 1 or run.series or len(numbers) != 1 or min(numbers) < 0:
        return run, len(statements)
    number = min(numbers)
    first, between = statements[number], statements[number + 1 : run.start]
    if set(first.targets) & {tensor for one in between for tensor in values_used(one.expression)}:
        return run, len(statements)
    moved = [*statements[:number], *between, first, *statements[run.start :]]
    # The names in the body have the numbers of its own step, which may be the second one.
    named = items_taken(run.body)
    turn = max([1, *(abs(named[text][1] - place) + 1 for text, (_, place) in run.items.items())])
    begun = first_step(KnownStep(moved, items, run.start, run.body, run.direction * turn, [[]]))
    if begun is None:
        return run, len(statements)
    statements[:] = moved
    shifted = {text: (one, place - run.direction) for text, (one, place) in run.items.items()}
    return run._replace(start=begun.rows[0], turns=run.turns + 1, starts=begun.starts, items=shifted), number


def _outline(statement: Statement) -> str:
    """Returns the text of a statement in which all values, and the numbers that may count steps, are alike."""

    def alike(part: Expression) -> Optional[Expression]:
        if isinstance(part, Value):
            return Name("<value>")
        text = counting_text(part)
        if text is None:
            return None
        return with_text(part, "<text>" if text.endswith('"') else re.sub(r"\d+", "<number>", text))

    return f"{len(statement.targets)} {replace(statement.expression, alike)!r}"


def _run_at(
    statements: Sequence[Statement],
    outlines: Sequence[int],
    items: Dict[str, Tuple[str, int]],
    position: int,
    most: int,
    completes: bool,
) -> Optional[_RunAt]:
    """Returns the steps that begin at a statement, or less than one step later, with the number of their second one.

    Args:
      statements: of the function.
      outlines: a number for each, equal for those that differ by values and numbers alone.
      items: {tensor: (first one of its list, its number)}.
      position: number of the statement.
      most: statements of a step.
      completes: whether a last step that lacks some counts.

    Returns:
      The most steps of the shortest length; None if there are none.
    """

    def turns(made: _RunAt) -> int:
        end = made.second + made.run.length * made.run.turns - len(made.first)
        return (with_last_step(statements, items, made.run, end)[1] if completes else made.run).turns

    for length in range(1, min(most, (len(statements) - position) // (FEWEST - 1)) + 1):
        runs: List[_RunAt] = []
        for start in range(position, position + 3 * length):  # also where a step begins that comes after the first two
            if start >= position + length and not runs:
                break
            first, second = (outlines[start + n * length : start + (n + 1) * length] for n in (0, 1))
            if first != second or any(asks(one) or not one.targets for one in statements[start : start + length]):
                break
            found = [_steps(statements, items, start, length, direction) for direction in (1, -1)]
            runs += [run for run in found if run is not None]
        if runs:
            return max(runs, key=lambda one: (turns(one), -one.second))
    return None


def _steps(
    statements: Sequence[Statement], items: Dict[str, Tuple[str, int]], position: int, length: int, direction: int
) -> Optional[_RunAt]:
    """Returns the steps of one length from a statement on; see `_run_at`."""

    def rows(turn: int) -> Sequence[Statement]:
        return statements[position + turn * length :][:length]

    series = series_of_steps(rows(0), rows(1))
    if series is None:
        return None
    body, _ = with_series(body_of_step(statements, items, position, length, 0), series, 0)
    used = {key for one in body for key in results_before(one)}
    # A statement that takes a result of the step before has to stand ahead of the one that makes it anew.
    if any(statement < number for number, one in enumerate(body) for statement, _ in results_before(one)):
        return None
    if not used and (direction < 0 or not counts_steps(body)):
        return None
    turns = 1
    counts = [len(one.targets) for one in rows(0)]
    while [len(one.targets) for one in rows(turns)] == counts:
        own = body_of_step(statements, items, position + turns * length, length, direction * turns)
        if with_series(own, series, turns)[0] != body:
            break
        turns += 1
    first = first_steps(KnownStep(statements, items, position, body, direction, series))
    start, starts = (first.rows[0] if first.rows else position), first.starts
    peeled = len(first.rows) // length
    turns += peeled
    if used and not peeled:
        made = [one.targets for one in last_statements(statements, position, length)]
        if len(made) < length:
            return None
        starts = {key: Value(made[key[0]][key[1]]) for key in sorted(used)}
    if turns < FEWEST:
        return None
    taken = items_taken(body).items()
    found = {text: (one, number - peeled * direction) for text, (one, number) in taken}
    run = Unrolled(start, length, turns, tuple(body), starts, found, direction, series_taken(first.series))
    made_run = _RunAt(run, position, first.rows)
    return made_run if used or _makes_lists(statements, made_run) else None


def _makes_lists(statements: Sequence[Statement], made: _RunAt) -> bool:
    """Returns whether steps that take nothing of each other are worth a loop: later lines take their results as lists.

    Args:
      statements: of the function.
      made: the steps.
    """
    run, end = made.run, made.second + made.run.length * made.run.turns - len(made.first)
    rows = [*made.first, *range(made.second, end)]
    steps = [[statements[n] for n in rows[k : k + run.length]] for k in range(0, len(rows), run.length)]
    if not any(True for one in run.body for _ in calls(one)) or any(asks_by_name(one.expression) for one in steps[0]):
        return False
    users: Dict[str, List[int]] = {}
    for number, one in enumerate(statements[end:]):
        for tensor in dict.fromkeys(values_used(one.expression)):
            users.setdefault(tensor, []).append(number)
    results = [(row, place) for row, one in enumerate(steps[0]) for place in range(len(one.targets))]
    used = [[users.get(step[row].targets[place]) for step in steps] for row, place in results]
    listed = [own for own in used if any(own)]
    return len(listed) == 1 and all(one == listed[0][0] for one in listed[0])
