"""Unrolled steps: statements that are repeated, each time with the results of the time before, as those of an RNN."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from legacy.source.basics.expressions import (
    Expression,
    Name,
    Value,
    children,
    leaves,
    replace,
    values_used,
    with_children,
)
from legacy.source.lines.name_hints import list_name
from legacy.source.lines.statements import Statement
from legacy.source.lines.step_bodies import (
    Unrolled,
    asks,
    body_of_step,
    items_taken,
    last_statements,
    result_of_step,
    results_before,
)

#: Fewest turns that are a loop, and most statements of a turn.
FEWEST, MOST_STATEMENTS = 4, 24


def unrolled_steps(statements: Sequence[Statement]) -> Tuple[List[Statement], List[Unrolled]]:
    """Finds the steps that are unrolled in some statements.

    Args:
      statements: of a function.

    Returns:
      The statements, in which variables that the first step asks for come before it, and the steps.
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
        found_at = _run_at(result, outlines, items, position)
        if found_at is None:
            position += 1
            continue
        run, position = found_at
        run, left_at = _with_distant_first(result, items, run)
        found = [one._replace(start=one.start - (one.start > left_at)) for one in found]
        asked = [one for one in result[run.start : position] if asks(one)]
        steps = [one for one in result[run.start : position] if not asks(one)]
        result[run.start : position] = [*asked, *steps]
        found.append(run._replace(start=run.start + len(asked)))
        position = run.start + len(asked) + run.length * run.turns
    return result, found


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
    number = min(numbers)
    if run.length != 1 or len(numbers) != 1 or number < 0:
        return run, len(statements)
    first, between = statements[number], statements[number + 1 : run.start]
    if set(first.targets) & {tensor for one in between for tensor in values_used(one.expression)}:
        return run, len(statements)
    moved = [*statements[:number], *between, first, *statements[run.start :]]
    # The names in the body have the numbers of its own step, which may be the second one.
    named = items_taken(run.body)
    turn = max([1, *(abs(named[text][1] - place) + 1 for text, (_, place) in run.items.items())])
    start, starts = _first_step(moved, items, run.start, run.body, run.direction * turn)
    if start == run.start:
        return run, len(statements)
    statements[:] = moved
    shifted = {text: (one, place - run.direction) for text, (one, place) in run.items.items()}
    return run._replace(start=start, turns=run.turns + 1, starts=starts, items=shifted), number


def _outline(statement: Statement) -> str:
    """Returns the text of a statement in which all values are alike."""
    plain = replace(statement.expression, lambda part: Name("<value>") if isinstance(part, Value) else None)
    return f"{len(statement.targets)} {plain!r}"


def _run_at(
    statements: Sequence[Statement], outlines: Sequence[int], items: Dict[str, Tuple[str, int]], position: int
) -> Optional[Tuple[Unrolled, int]]:
    """Returns the steps that begin at a statement, or less than one step later, with the number of their second one.

    Args:
      statements: of the function.
      outlines: a number for each, equal for those that differ by values alone.
      items: {tensor: (first one of its list, its number)}.
      position: number of the statement.

    Returns:
      The most steps of the shortest length, and the number of the first statement that is a step like those after it;
      None if there are none.
    """
    for length in range(1, min(MOST_STATEMENTS, (len(statements) - position) // (FEWEST - 1)) + 1):
        found: List[Tuple[Optional[Unrolled], int]] = []
        for start in range(position, position + length):
            first, second = (outlines[start + n * length : start + (n + 1) * length] for n in (0, 1))
            if first != second or any(asks(one) or not one.targets for one in statements[start : start + length]):
                break
            found += [(_steps(statements, items, start, length, direction), start) for direction in (1, -1)]
        runs = [(run, start) for run, start in found if run is not None]
        if runs:
            return max(runs, key=lambda one: (one[0].turns, -one[1]))
    return None


def _steps(
    statements: Sequence[Statement], items: Dict[str, Tuple[str, int]], position: int, length: int, direction: int
) -> Optional[Unrolled]:
    """Returns the steps of one length from a statement on; see `_run_at`."""
    body = body_of_step(statements, items, position, length, 0)
    used = {key for one in body for key in results_before(one)}
    # A statement that takes a result of the step before has to stand ahead of the one that makes it anew.
    if not used or any(statement < number for number, one in enumerate(body) for statement, _ in results_before(one)):
        return None
    turns = 1
    counts = [len(one.targets) for one in statements[position : position + length]]
    while [len(one.targets) for one in statements[position + turns * length :][:length]] == counts:
        if body_of_step(statements, items, position + turns * length, length, direction * turns) != body:
            break
        turns += 1
    start, starts = _first_step(statements, items, position, body, direction)
    if start < position:
        turns += 1
    else:
        made = [one.targets for one in last_statements(statements, position, length)]
        if len(made) < length:
            return None
        starts = {key: Value(made[key[0]][key[1]]) for key in sorted(used)}
    if turns < FEWEST:
        return None
    shift = 0 if start == position else -direction
    found = {text: (first, number + shift) for text, (first, number) in items_taken(body).items()}
    return Unrolled(start, length, turns, tuple(body), starts, found, direction)


def _first_step(
    statements: Sequence[Statement],
    items: Dict[str, Tuple[str, int]],
    position: int,
    body: Sequence[Expression],
    direction: int,
) -> Tuple[int, Dict[Tuple[int, int], Expression]]:
    """Finds the step before a second one, which takes other values in place of a step's before it.

    Args:
      statements: of the function.
      items: {tensor: (first one of its list, its number)}.
      position: of the second step.
      body: of the second step.
      direction: of the items.

    Returns:
      The number of its first statement, and {(statement, result): what it takes}; `position` if there is none.
    """
    start, left = position, len(body)
    while start > 0 and left:
        start -= 1
        left -= not asks(statements[start])
    own = [one for one in statements[start:position] if not asks(one)]
    after = statements[position : position + len(body)]
    if left or any(len(one.targets) != len(two.targets) for one, two in zip(own, after)):
        return position, {}
    taken: Dict[Tuple[int, int], Expression] = {}
    for one, wanted in zip(body_of_step(own, items, 0, len(body), -direction), body):
        if not _fits(one, wanted, taken):
            return position, {}
    made = {target for one in own for target in one.targets}
    if items_taken(taken.values()) or any(_uses_own(part) or made & set(values_used(part)) for part in taken.values()):
        return position, {}
    return start, taken


def _uses_own(expression: Expression) -> bool:
    results = [result_of_step(leaf) for leaf in leaves(expression)]
    return any(result is not None and not result.is_before for result in results)


def _fits(one: Expression, wanted: Expression, taken: Dict[Tuple[int, int], Expression]) -> bool:
    """Returns whether an expression is another one with something in place of the results of a step before."""
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
