"""Lines that statements take in the text, as they are and as loops and calls of functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence

from legacy.source.basics.expressions import Call, Loop, Name, Value, replace
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.line_breaks import layout
from legacy.source.repeats.defaults import usual_arguments, without_usual
from legacy.source.repeats.runs import may_have_runs, runs_of, with_loops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.basics.expressions import Expression
    from legacy.source.lines.statements import Statement
    from legacy.source.repeats.readings import Readings

#: Lines that a function costs besides its body: signature, docstring, result and two blank lines.
OVERHEAD = 5
#: Characters of an average line, and columns that a function's lines are indented by.
LINE, INDENT = 90, 4
#: What the names of tensors have at their ends where several functions are outlined together.
_OWNER = re.compile(r"(#\d+)?(@\w+)?(?=>)")


def estimated_lines(statement: Statement) -> int:
    """Returns about how many lines a statement takes."""
    return 1 + len(_OWNER.sub("", expression_text(statement.expression))) // LINE


def lines_with_loops(
    statements: Sequence[Statement], lines: Sequence[int], read: Optional[Readings] = None
) -> List[int]:
    """Returns the lines that statements take where runs of calls are loops: the first call of a run takes those of all.

    Args:
      statements: in order.
      lines: that each takes by itself.
      read: keeps what is read of the statements.

    Returns:
      The lines of each.
    """
    if not may_have_runs(statements):
        return list(lines)
    result: List[int] = []
    for run in runs_of(statements, read=read):
        own = lines[len(result)]
        result += [own + 1, *[0] * (run.length - 1)] if run.length > 1 else [own]
    return result


def fewest_lines(starts: Sequence[int], length: int) -> int:
    """Returns the lines that calls in place of some blocks take at least: two for those in a row, as a loop."""
    return sum(min(len(run), 2) for run in _runs(starts, length))


def lines_of_calls(calls: Mapping[int, Statement], length: int) -> int:
    """Returns the lines that calls of one function take: those in a row as loops, and without usual arguments.

    Args:
      calls: {start of a block of statements: the call in its place}.
      length: of each block.
    """
    short = _without_defaults(calls)
    runs = _runs(sorted(calls), length)
    return sum(_lines_of(statement) for run in runs for statement in with_loops([short[start] for start in run]))


def _without_defaults(calls: Mapping[int, Statement]) -> Dict[int, Statement]:
    """Returns the calls of one function without the arguments that become defaults."""
    made = {start: statement.expression for start, statement in calls.items()}
    usual = usual_arguments([call for call in made.values() if isinstance(call, Call)])
    return {
        start: calls[start]._replace(expression=without_usual(call, usual))
        for start, call in made.items()
        if isinstance(call, Call)
    }


def _lines_of(statement: Statement) -> int:
    """Returns the lines that a statement takes in the text."""
    expression = _with_short_names(statement.expression)
    if isinstance(expression, Loop):
        return 1 + len(layout("x = ", expression.body, "", 2 * INDENT))
    return len(layout("x = ", expression, "", INDENT))


def _runs(starts: Sequence[int], length: int) -> List[List[int]]:
    """Divides the starts of blocks of one length where two do not follow each other at once.

    >>> _runs([0, 2, 4, 9], 2)
    [[0, 2, 4], [9]]
    """
    runs: List[List[int]] = []
    for start in starts:
        if runs and start == runs[-1][-1] + length:
            runs[-1].append(start)
        else:
            runs.append([start])
    return runs


def _with_short_names(expression: Expression) -> Expression:
    """Returns an expression with short names in place of those that tensors have in the old graph."""
    return replace(expression, lambda part: Name("x") if isinstance(part, Value) else None)
