"""Runs: calls in a row that differ by a number alone, each of the result of the one before, become a loop."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Any, Counter, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics import expressions
from legacy.source.basics.expressions import CARRIED, Call, Literal, Loop, Name, Scoped, Value
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.holes import with_holes
from legacy.source.lines.identifiers import RESERVED, identifier
from legacy.source.lines.statements import Statement
from legacy.source.repeats.common_texts import common_ends
from legacy.source.repeats.readings import Readings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

#: Fewer calls stay as they are.
FEWEST = 3
#: Names of a loop's number, where the names of variables give none that is free.
_VARIABLES = ("index", "number", "turn")


def with_loops(
    statements: Sequence[Statement], results: Collection[str] = (), taken: Collection[str] = ()
) -> List[Statement]:
    """Returns statements in which runs of calls are loops.

    Args:
      statements: of a function.
      results: tensors that are used after the last statement.
      taken: names that no loop's number may have.

    Returns:
      The statements.
    """
    return [run.statement for run in runs_of(statements, results, taken)]


class Run(NamedTuple):
    """A loop in place of several statements, or a statement that stays as it is.

    Attributes:
      statement: the loop, or the statement.
      length: number of statements that it stands for.
    """

    statement: Statement
    length: int


def runs_of(
    statements: Sequence[Statement],
    results: Collection[str] = (),
    taken: Collection[str] = (),
    read: Optional[Readings] = None,
) -> Iterator[Run]:
    """Finds the runs of some statements.

    Args:
      statements: of a function.
      results: tensors that are used after the last statement.
      taken: names that no loop's number may have.
      read: keeps what is read of the statements.

    Yields:
      the runs, in order; those of one statement are no loops.
    """
    read = read or Readings()
    ends = _ends_of_calls(statements)
    uses: Optional[Counter[str]] = None
    position = 0
    while position < len(statements):
        run = None
        if ends[position] - position >= FEWEST:
            if uses is None:  # most statements have no calls in a row, and are asked for many times
                uses = collections.Counter(
                    [*results, *(tensor for statement in statements for tensor in read.uses(statement))]
                )
            run = _run_at(statements[position : ends[position]], uses, taken, read)
        run = run or Run(statements[position], 1)
        yield run
        position += run.length


def _ends_of_calls(statements: Sequence[Statement]) -> List[int]:
    """Returns for each statement the number of the first one from it on that is no call of a function."""
    ends: List[int] = []
    for number in range(len(statements) - 1, -1, -1):
        may_repeat = _may_repeat(statements[number])
        ends.append((ends[-1] if ends else len(statements)) if may_repeat else number)
    return ends[::-1]


def may_have_runs(statements: Sequence[Statement]) -> bool:
    """Returns whether there are enough calls in a row for a loop."""
    return any(end - start >= FEWEST for start, end in enumerate(_ends_of_calls(statements)))


class _Varying(NamedTuple):
    """A place of a call in which a number rises by one from each call to the next.

    Attributes:
      start, end: the text before and after the number.
      number: of the first call.
    """

    start: str
    end: str
    number: int

    def text(self, turn: int) -> str:
        """The text of a call."""
        return f"{self.start}{self.number + turn}{self.end}"

    def in_loop(self, variable: str, first: int) -> Name:
        """The text in a loop whose number in the first turn is `first`."""
        number = variable if self.number == first else f"{variable} + {self.number - first}"
        if not self.start and not self.end:
            return Name(number)
        return Name(f"{'' if self.start.startswith('f') else 'f'}{self.start}{{{number}}}{self.end}")


def _run_at(calls: Sequence[Statement], uses: Counter[str], taken: Collection[str], read: Readings) -> Optional[Run]:
    """Returns the loop that the first of some calls make; None if there is none."""
    (outline, first), (second_outline, second) = (_outline(call, read) for call in calls[:2])
    carried = _places_of(calls[0], second)
    starts = [content for place, content in enumerate(first) if place in carried]
    if outline != second_outline or not starts or any(start != starts[0] for start in starts):
        return None
    varying = [_varying(*pair) for pair in zip(first, second)]
    length = 1
    for before, call in zip(calls, calls[1:]):  # most runs end at their second call: no later one is read for these
        own_outline, own = _outline(call, read)
        if own_outline != outline or _places_of(before, own) != carried or uses[before.targets[0]] != len(carried):
            break
        if not _continues(first, own, varying, carried, length):
            break
        length += 1
    numbered = [one for one in varying if one is not None]
    if length < FEWEST or not numbered:
        return None
    called = [part.function for part in expressions.calls(calls[0].expression)]
    variable = _variable_name(numbered, {*taken, *called})
    number = numbered[0].number
    body = [one.in_loop(variable, number) if one else content for one, content in zip(varying, first)]
    body = [CARRIED if place in carried else content for place, content in enumerate(body)]
    loop = Loop(variable, number, number + length, starts[0], with_holes(calls[0].expression, body))
    return Run(Statement(calls[length - 1].targets, loop), length)


def _outline(call: Statement, read: Readings) -> Tuple[str, List[Any]]:
    """Returns the text of a call without what its holes hold, and that."""
    text, holes = read.skeleton(call)
    return text, [hole.content for hole in holes]


def _places_of(call: Statement, contents: Sequence[Any]) -> Set[int]:
    """Returns the holes of another call that hold the result of a call."""
    return {place for place, content in enumerate(contents) if content == Value(call.targets[0])}


def _may_repeat(statement: Statement) -> bool:
    """Returns whether a statement calls a function of the program for one result."""
    expression = statement.expression
    return len(statement.targets) == 1 and isinstance(expression, Call) and "." not in expression.function


def _continues(
    first: Sequence[Any], own: Sequence[Any], varying: Sequence[Optional[_Varying]], carried: Collection[int], turn: int
) -> bool:
    """Returns whether what a call is given follows from what the first one is given.

    Args:
      first: contents of the first call's holes.
      own: those of the call.
      varying: for each hole how it changes, or None if it does not.
      carried: numbers of the holes of the result of the call before.
      turn: number of the call.

    Returns:
      The answer.
    """
    for place, (content, start, change) in enumerate(zip(own, first, varying)):
        if change is not None and expression_text(content) != change.text(turn):
            return False
        if change is None and place not in carried and repr(content) != repr(start):
            return False
    return True


def _varying(first: Any, second: Any) -> Optional[_Varying]:
    """Returns how what two calls are given differs, if that is by one number; None if it is equal or otherwise."""
    if repr(first) == repr(second) or not all(map(_has_text, (first, second))):
        return None
    texts = expression_text(first), expression_text(second)
    start, end = common_ends(texts)
    before, after = (text[len(start) : len(text) - len(end)] for text in texts)
    if not (before.isdigit() and after.isdigit()) or "." in (start[-1:], end[:1]):
        return None
    varying = _Varying(start, end, int(before))
    return varying if (varying.text(0), varying.text(1)) == texts else None


def _has_text(content: Any) -> bool:
    """Returns whether something is a name of variables or a whole number, whose text may contain the loop's number."""
    if isinstance(content, Literal):
        value = content.value
        return type(value) is int or isinstance(value, str) and not set(value) & set("{}")
    return isinstance(content, Scoped) or isinstance(content, Name) and content.text.startswith('f"')


def _variable_name(varying: Sequence[_Varying], taken: Collection[str]) -> str:
    """Returns the word before the number, as "layer" in "encoder/layer_2/dense", or another one that is free."""
    words: Tuple[str, ...] = tuple(
        identifier(found[1]) for one in varying for found in [re.search(r"([A-Za-z]+)_*$", one.start)] if found
    )
    free = (word for word in (*words, *_VARIABLES) if word not in taken and word not in RESERVED)
    return next(free)
