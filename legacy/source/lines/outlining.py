"""Outlining: statements that are repeated with other variables and sizes become a function that is called."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import Call, Name, Value, replace
from legacy.source.basics.rendering import expression_text, layout
from legacy.source.lines.abstraction import Function, make_function
from legacy.source.lines.holes import skeleton
from legacy.source.lines.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Callable

#: The longest block of statements that is looked for, and how often blocks are.
MOST_STATEMENTS, MOST_ROUNDS = 40, 8
#: Lines that a function costs besides its body: signature, docstring, result and two blank lines.
OVERHEAD = 5
#: Blocks that are tried in one round, and lines that results, tensors and parameters beyond the usual are worth.
MOST_TRIED, PER_RESULT, PER_TENSOR, PER_PARAMETER, USUAL_PARAMETERS = 60, 8, 3, 2, 5
#: Characters of an average line, and columns that a function's lines are indented by.
LINE, INDENT = 90, 4


class Outlined(NamedTuple):
    """A function's statements, with what is repeated in functions of its own.

    Attributes:
      functions: these, each after those that it calls.
      statements: the rest.
    """

    functions: List[Function]
    statements: List[Statement]


def outline(statements: Sequence[Statement], shape: Callable[[str], Optional[List[int]]], batch: int = 0) -> Outlined:
    """Outlines what is repeated.

    Args:
      statements: of a function, the last one its result.
      shape: returns a tensor's static shape, or None.
      batch: number of examples that the shapes are for; 0 if unknown.

    Returns:
      The functions, and the statements that call them.
    """
    rest = list(statements)
    functions: List[Function] = []
    for _ in range(MOST_ROUNDS):
        best = _best(rest, shape, {function.name for function in functions}, batch)
        if best is None:
            break
        function, calls, length = best
        functions.append(function)
        for start in sorted(calls, reverse=True):
            rest[start : start + length] = [calls[start]]
    return Outlined(functions, rest)


def _best(
    statements: List[Statement], shape: Callable[[str], Optional[List[int]]], taken: Set[str], batch: int
) -> Optional[Tuple[Function, Dict[int, Statement], int]]:
    """Returns the function that saves the most lines, {start of a block: its call} and the blocks' length."""
    keys = [skeleton(statement.expression)[0] + str(len(statement.targets)) for statement in statements[:-1]]
    lines = [1 + len(expression_text(statement.expression)) // LINE for statement in statements]
    candidates: List[Tuple[int, int, List[int]]] = []
    for length in range(1, min(MOST_STATEMENTS, len(keys) // 2) + 1):
        places: Dict[Tuple[str, ...], List[int]] = collections.defaultdict(list)
        for start in range(len(keys) - length + 1):
            places[tuple(keys[start : start + length])].append(start)
        for starts in places.values():
            apart = _apart(starts, length)
            size = sum(lines[starts[0] : starts[0] + length])
            saved = (len(apart) - 1) * size - len(apart) - OVERHEAD
            is_call = length == 1 and _calls(statements[starts[0]], taken)
            if saved > 0 and not is_call:
                candidates.append((saved, length, apart))
    found: List[Tuple[int, int, Function, Dict[int, Statement], int]] = []
    for saved, length, starts in sorted(candidates, key=lambda candidate: (-candidate[0], candidate[1]))[:MOST_TRIED]:
        if found and saved <= max(score for score, *_ in found):
            break
        alike = _alike(statements, starts, length)
        made = make_function(statements, alike, length, shape, taken, batch)
        if made is None:
            continue
        size = sum(lines[starts[0] : starts[0] + length])
        extra = PER_RESULT * (len(made[0].results) - 1) + PER_TENSOR * (len(made[0].tensors) - 1)
        extra += PER_PARAMETER * max(0, len(made[0].parameters) - USUAL_PARAMETERS)
        score = (len(alike) - 1) * size - sum(map(_lines_of_call, made[1].values())) - OVERHEAD - extra
        if score > 0:
            found.append((score, -length, made[0], made[1], length))
    if not found:
        return None
    best = max(found, key=lambda one: one[:2])
    return best[2], best[3], best[4]


def _lines_of_call(statement: Statement) -> int:
    """Returns the lines that a call takes in the text; one that is too long for a line has its arguments below."""
    short = replace(statement.expression, lambda part: Name("x") if isinstance(part, Value) else None)
    return len(layout("x = ", short, "", INDENT))


def _calls(statement: Statement, functions: Set[str]) -> bool:
    """Returns whether a statement is nothing but the call of one of some functions."""
    return isinstance(statement.expression, Call) and statement.expression.function in functions


def _apart(starts: Sequence[int], length: int) -> List[int]:
    """Returns the starts of blocks that do not overlap, from the first on."""
    found: List[int] = []
    for start in starts:
        if not found or start >= found[-1] + length:
            found.append(start)
    return found


def _alike(statements: Sequence[Statement], starts: Sequence[int], length: int) -> List[int]:
    """Returns the starts of the most blocks that use their inner values at the same places."""
    groups: Dict[Tuple[Any, ...], List[int]] = collections.defaultdict(list)
    for start in starts:
        groups[_inner_uses(statements, start, length)].append(start)
    return max(groups.values(), key=len)


def _inner_uses(statements: Sequence[Statement], start: int, length: int) -> Tuple[Any, ...]:
    """Returns, for each place of a value in a block, the row and number of the inner target there, or None."""
    block = statements[start : start + length]
    inner = {target: (row, n) for row, s in enumerate(block) for n, target in enumerate(s.targets)}
    holes = [hole.content for s in block for hole in skeleton(s.expression)[1] if hole.kind == "value"]
    return tuple(inner.get(content.tensor) if isinstance(content, Value) else None for content in holes)
