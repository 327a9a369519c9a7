"""Functions of the program as text: statements with named values, laid out."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Sequence, Tuple

from legacy.source.basics.expressions import (
    BATCH_SIZE,
    CARRIED,
    Expression,
    Infix,
    Literal,
    Loop,
    Name,
    Value,
    leaves,
    replace,
)
from legacy.source.basics.rendering import expression_text, loop_header
from legacy.source.functions.step_bodies import Unrolled
from legacy.source.functions.step_loops import step_loop, with_lists
from legacy.source.functions.unrolled import unrolled_steps
from legacy.source.lines.line_breaks import WIDTH, layout
from legacy.source.lines.name_hints import list_name
from legacy.source.lines.naming import name_values
from legacy.source.lines.repeated_terms import with_repeated_terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.lines.statements import Statement


def function_lines(
    signature: str,
    docstring: str,
    statements: Sequence[Statement],
    shape: Callable[[str], Optional[List[int]]],
    parameters: Mapping[str, str],
    batch_from: str = "",
    results: Sequence[str] = (),
    rows_per_example: int = 1,
) -> list[str]:
    """Returns a function's lines.

    Args:
      signature: of the function, without "def" and colon.
      docstring: one line or more.
      statements: the last one without targets gives the result; others without targets are calls for their effect.
      shape: returns a tensor's static shape, or None.
      parameters: {tensor: name} of the function's parameters.
      batch_from: text of a tensor whose first dimension tells the number of examples.
      results: tensors that are returned, where the last statement does not give the result.
      rows_per_example: rows that this tensor has of each example.

    Returns:
      The lines.
    """
    given = {
        *re.findall(r"\w+", signature),
        *(s.expression.variable for s in statements if isinstance(s.expression, Loop)),
    }
    statements, steps = unrolled_steps(statements, completes=True)
    names = name_values(statements, results, parameters, shape, given - set(parameters.values()))
    lines = [*signature_lines(signature), *docstring_lines(docstring)]
    uses_batch = any(leaf == BATCH_SIZE for statement in statements for leaf in leaves(statement.expression))
    if uses_batch and BATCH_SIZE.text not in given:
        share = f" // {rows_per_example}" if rows_per_example > 1 else ""
        lines.append(f"    batch_size = int({batch_from}.shape[0]){share}")
    ends_in_loop = any(run.start + run.length * run.turns >= len(statements) - 1 for run in steps)
    at_once = bool(statements) and not isinstance(statements[-1].expression, Loop) and not ends_in_loop
    if at_once and list(statements[-1].targets) == list(results) and len(results) == 1:
        statements, results = [*statements[:-1], statements[-1]._replace(targets=())], ()
    statements = list(statements if ends_in_loop else _returned_at_once(statements))
    last = statements[-1:] if not results else []
    lines += _lines_with_loops(statements, steps, results, names, len(statements) - len(last))
    for statement in statements[len(statements) - len(last) :]:
        lines += _statement(statement, names, 4, "return ")
    if results:
        lines.append("    return " + ", ".join(names[tensor] for tensor in results))
    return lines


def _lines_with_loops(
    statements: List[Statement], steps: Sequence[Unrolled], results: Sequence[str], names: Dict[str, str], end: int
) -> List[str]:
    """Returns the lines of the first statements, with loops in place of unrolled steps.

    Args:
      statements: of the function; those after a loop get the lists that it makes.
      steps: that are unrolled in them.
      results: tensors that are used after the last statement.
      names: {tensor: name}; those of results of loops are changed.
      end: number of the first statement that is left.

    Returns:
      The lines.
    """
    lines: List[str] = []
    position = 0
    for run in [run for run in steps if run.start + run.length * run.turns <= end]:
        lines += statement_lines(statements[position : run.start], names)
        loop = step_loop(run, statements, results, names)
        lines += loop.lines
        names.update(loop.names)
        position = run.start + run.length * run.turns
        for number in range(position, len(statements)):
            made = with_lists(statements[number].expression, loop.lists)
            statements[number] = statements[number]._replace(expression=made)
    return lines + statement_lines(statements[position:end], names)


def docstring_lines(text: str) -> List[str]:
    """Returns the lines of a function's docstring; a sentence too long for one line goes on in the next.

    >>> [len(line) for line in docstring_lines("Returns a convolution.")]
    [32]
    >>> [len(line) for line in docstring_lines("word " * 30)]
    [116, 43, 7]
    """
    line = f'    """{text}"""'
    if len(line) <= WIDTH or "\n" in text:
        return [line]
    wrapped = textwrap.wrap(text, WIDTH, initial_indent='    """', subsequent_indent="    ", break_on_hyphens=False)
    return [*wrapped, '    """']


def signature_lines(signature: str) -> List[str]:
    """Returns the first lines of a function; a signature too long for one is broken behind its name.

    >>> signature_lines("f(scope, x)")
    ['def f(scope, x):']
    """
    if len(f"def {signature}:") <= WIDTH:
        return [f"def {signature}:"]
    name, _, parameters = signature[:-1].partition("(")
    if len(parameters) <= WIDTH - 4:
        return [f"def {name}(", f"    {parameters}", "):"]
    filled = textwrap.wrap(
        f"{parameters},",
        WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [f"def {name}(", *filled, "):"]


def _returned_at_once(statements: Sequence[Statement]) -> Sequence[Statement]:
    """Returns statements in which a last value that is only returned has no name."""
    made = statements[-2] if len(statements) > 1 else None
    if made is None or isinstance(made.expression, Loop):
        return statements
    if len(made.targets) != 1 or statements[-1] != ((), Value(made.targets[0])):
        return statements
    return [*statements[:-2], made._replace(targets=())]


def statement_lines(statements: Sequence[Statement], names: Dict[str, str], indent: int = 4) -> List[str]:
    """Returns the lines of some statements: assignments, and calls for their effect.

    >>> from legacy.source.lines.statements import Statement
    >>> statement_lines([Statement(("x:0",), Name("y")), Statement((), Value("x:0"))], {"x:0": "x"})
    ['    x = y', '    x']

    Args:
      statements: the statements.
      names: {tensor: name}.
      indent: columns that the lines are indented by.

    Returns:
      The lines.
    """
    return [line for statement in statements for line in _statement(statement, names, indent)]


def _statement(statement: Statement, names: Dict[str, str], indent: int, start: str = "") -> List[str]:
    """Returns the lines of a statement; the shortest of those that write terms that are alike out, and once."""
    expression = named(statement.expression, names)
    target = ", ".join(names[target] for target in statement.targets)
    if isinstance(expression, Loop):
        return _loop_lines(target, expression, indent)
    if list_name(statement):
        target = names[statement.targets[0]].partition("[")[0]
    plain = _with_target(target, expression, indent, start)
    if len(plain) == 1:
        return plain
    taken = [*names.values(), target]
    inside, _ = with_repeated_terms(expression, taken, as_tables=False)
    outside, tables = with_repeated_terms(expression, taken, as_tables=True)
    lines = [line for table in tables for line in layout(f"{table.name} = ", Literal(table.content), "", indent)]
    lines += _with_target(target, outside, indent, start)
    return min(plain, _with_target(target, inside, indent, start), lines, key=_length)


def _loop_lines(target: str, loop: Loop, indent: int) -> List[str]:
    """Returns the lines of a loop; a first one gives what it starts from the name of its result."""
    start = [] if loop.start == Name(target) else _assignment(target, loop.start, indent)
    turn = replace(loop.body, lambda part: Name(target) if part == CARRIED else None)
    return [*start, " " * indent + loop_header(loop), *_assignment(target, turn, indent + 4)]


def _length(lines: Sequence[str]) -> Tuple[int, int]:
    """Orders lines by their number; none may be longer than others are that long names make too long."""
    return max([WIDTH, *map(len, lines)]), len(lines)


def _with_target(target: str, expression: Expression, indent: int, start: str) -> List[str]:
    return _assignment(target, expression, indent) if target else layout(start, expression, "", indent)


def _assignment(target: str, expression: Expression, indent: int) -> List[str]:
    """Returns the lines of an assignment; `x = x + y` as `x += y`."""
    if isinstance(expression, Infix) and expression.symbol in ("+", "-", "*", "/") and expression.left == Name(target):
        return layout(f"{target} {expression.symbol}= ", expression.right, "", indent)
    return layout(target + " = ", expression, "", indent)


def named(expression: Expression, names: Dict[str, str]) -> Expression:
    """Returns an expression with names in place of values."""
    return replace(expression, lambda part: Name(names[part.tensor]) if isinstance(part, Value) else None)


def constant_line(name: str, value: object, comment: str) -> str:
    """Returns the line of a module's constant.

    Args:
      name: of the constant.
      value: its value, a literal.
      comment: text behind it, or "".

    Returns:
      The line.
    """
    return f"{name} = {expression_text(Literal(value))}" + (f"  # {comment}" if comment else "")
