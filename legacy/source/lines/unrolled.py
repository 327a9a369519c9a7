"""Unrolled steps: statements that are repeated, each time with the results of the time before, as those of an RNN."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from legacy.source.basics.expressions import (
    Expression,
    Name,
    Value,
    Variable,
    children,
    leaves,
    replace,
    values_used,
    with_children,
)
from legacy.source.lines.name_hints import list_name
from legacy.source.lines.statements import Statement

#: Fewest turns that are a loop, and most statements of a turn.
FEWEST, MOST_STATEMENTS = 4, 24
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
        asked = [one for one in result[run.start : position] if _asks(one)]
        steps = [one for one in result[run.start : position] if not _asks(one)]
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
    turn = max([1, *(abs(int(text[1:-1].split()[2]) - place) + 1 for text, (_, place) in run.items.items())])
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


def _asks(statement: Statement) -> bool:
    return isinstance(statement.expression, Variable) and len(statement.targets) == 1


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
            if first != second or any(_asks(one) or not one.targets for one in statements[start : start + length]):
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
    body = _body(statements, items, position, length, 0)
    used = {key for one in body for key in _before(one)}
    # A statement that takes a result of the step before has to stand ahead of the one that makes it anew.
    if not used or any(statement < number for number, one in enumerate(body) for statement, _ in _before(one)):
        return None
    turns = 1
    counts = [len(one.targets) for one in statements[position : position + length]]
    while [len(one.targets) for one in statements[position + turns * length :][:length]] == counts:
        if _body(statements, items, position + turns * length, length, direction * turns) != body:
            break
        turns += 1
    start, starts = _first_step(statements, items, position, body, direction)
    if start < position:
        turns += 1
    else:
        made = [one.targets for one in _last(statements, position, length)]
        if len(made) < length:
            return None
        starts = {key: Value(made[key[0]][key[1]]) for key in sorted(used)}
    if turns < FEWEST:
        return None
    shift = 0 if start == position else -direction
    named = {leaf.text: leaf.text[1:-1].split() for one in body for leaf in _names(one) if leaf.text.startswith(_ITEM)}
    found = {text: (parts[1], int(parts[2]) + shift) for text, parts in named.items()}
    return Unrolled(start, length, turns, tuple(body), starts, found, direction)


def _last(statements: Sequence[Statement], end: int, length: int) -> List[Statement]:
    """Returns the last statements before one, without those that ask for a variable."""
    found: List[Statement] = []
    while end > 0 and len(found) < length:
        end -= 1
        found += [statements[end]] if not _asks(statements[end]) else []
    return found[::-1]


def _before(expression: Expression) -> List[Tuple[int, int]]:
    """Returns the statements and results of the step before that a body takes."""
    results = [result_of_step(leaf) for leaf in leaves(expression)]
    return [result.key for result in results if result is not None and result.is_before]


def _names(expression: Expression) -> List[Name]:
    return [leaf for leaf in leaves(expression) if isinstance(leaf, Name)]


def _body(
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
    for number, one in enumerate(_last(statements, start, length)):
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
        left -= not _asks(statements[start])
    own = [one for one in statements[start:position] if not _asks(one)]
    after = statements[position : position + len(body)]
    if left or any(len(one.targets) != len(two.targets) for one, two in zip(own, after)):
        return position, {}
    taken: Dict[Tuple[int, int], Expression] = {}
    for one, wanted in zip(_body(own, items, 0, len(body), -direction), body):
        if not _fits(one, wanted, taken):
            return position, {}
    made = {target for one in own for target in one.targets}
    if any(_uses_own(part) or made & set(values_used(part)) for part in taken.values()):
        return position, {}
    return start, taken


def _uses_own(expression: Expression) -> bool:
    return any(leaf.text.startswith((_OWN, _ITEM)) for leaf in _names(expression))


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
