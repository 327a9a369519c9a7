"""Outlining: statements that are repeated with other variables and sizes become a function that is called."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Any, Counter, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import Call, Listing, Loop, Name, Value, Variable, replace
from legacy.source.basics.rendering import expression_text, layout
from legacy.source.lines.abstraction import Function, make_function
from legacy.source.lines.defaults import usual_arguments, with_defaults, without_usual
from legacy.source.lines.holes import skeleton
from legacy.source.lines.runs import runs_of, with_loops
from legacy.source.lines.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from legacy.source.basics.expressions import Expression

#: The longest block of statements that is looked for, and how often blocks are.
MOST_STATEMENTS, MOST_ROUNDS = 40, 16
#: Lines that a function costs besides its body: signature, docstring, result and two blank lines.
OVERHEAD = 5
#: Blocks of one length that are tried in one round: long blocks that overlap are many, and most are no functions.
MOST_TRIED = 6
#: Lines that results, tensors and parameters beyond the usual are worth.
PER_RESULT, PER_TENSOR, PER_PARAMETER, USUAL_PARAMETERS = 8, 3, 2, 5
#: Parameters beyond which nobody reads a call.
MOST_PARAMETERS = 12
#: Characters of an average line, and columns that a function's lines are indented by.
LINE, INDENT = 90, 4
#: What the names of tensors have at their ends where several functions are outlined together.
_OWNER = re.compile(r"(#\d+)?(@\w+)?(?=>)")


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
    functions, (rest,) = outline_parts([(statements, ())], shape, batch)
    return Outlined(functions, rest)


def outline_parts(
    parts: Sequence[Tuple[Sequence[Statement], Sequence[str]]],
    shape: Callable[[str], Optional[List[int]]],
    batch: int = 0,
    taken: Collection[str] = (),
) -> Tuple[List[Function], List[List[Statement]]]:
    """Outlines what is repeated in several functions or in one of them.

    Args:
      parts: statements of each function, and the tensors that it returns if these are not in its last statement.
      shape: returns a tensor's static shape, or None.
      batch: number of examples that the shapes are for; 0 if unknown.
      taken: names of further functions.

    Returns:
      The functions of what is repeated, and the statements of each part.
    """
    rest: List[Statement] = []
    ends = [Listing((*map(Value, results), Name(f"end {n}"))) for n, (_, results) in enumerate(parts)]  # all differ
    for (statements, _), end in zip(parts, ends):
        rest += [*statements, Statement((), end)]
    functions: List[Function] = []
    for _ in range(MOST_ROUNDS):
        best = _best(rest, shape, {*taken, *(function.name for function in functions)}, batch)
        if best is None:
            break
        functions.append(best.function)
        for start in sorted(best.calls, reverse=True):
            rest[start : start + best.length] = [best.calls[start]]
    result: List[List[Statement]] = [[]]
    for statement in rest:
        if statement.expression in ends:
            result.append([])
        else:
            result[-1].append(statement)
    return _shortened(functions, result[:-1], [results for _, results in parts], taken)


def _shortened(
    functions: Sequence[Function],
    parts: Sequence[List[Statement]],
    results: Sequence[Sequence[str]],
    taken: Collection[str],
) -> Tuple[List[Function], List[List[Statement]]]:
    """Returns functions and parts with loops in place of runs of calls, and defaults; see `outline_parts`."""
    names = {*taken, *(function.name for function in functions)}
    made = [
        one._replace(statements=with_loops(one.statements, one.results, {*names, *one.parameters})) for one in functions
    ]
    return with_defaults(made, [with_loops(part, needed, names) for part, needed in zip(parts, results)])


class _Repeated(NamedTuple):
    """Blocks of statements that do the same.

    Attributes:
      saved: how many lines a function would save at most.
      length: statements of each block.
      body: about how many lines they take in a function.
      sizes: {start of a block: about how many lines it takes as it is}.
    """

    saved: int
    length: int
    body: int
    sizes: Dict[int, int]


class _Made(NamedTuple):
    """A function of repeated blocks: the lines that it saves, their length, and {start: the call in its place}."""

    score: int
    length: int
    function: Function
    calls: Dict[int, Statement]

    @property
    def rank(self) -> Tuple[int, int, int]:
        """Orders functions: of those that save equally many lines, one of a whole layer has the fewest parameters."""
        return self.score, -len(self.function.parameters), -self.length


def _best(
    statements: List[Statement], shape: Callable[[str], Optional[List[int]]], taken: Set[str], batch: int
) -> Optional[_Made]:
    """Returns the function that saves the most lines; one that is repeated inside its blocks comes before it."""
    repeated = _repeated(statements, taken)

    def most_saving(among: Sequence[_Repeated]) -> Optional[_Made]:
        best: Optional[_Made] = None
        tried: Counter[int] = collections.Counter()
        for blocks in among:
            if best and blocks.saved < best.score:
                break
            tried[blocks.length] += 1
            if tried[blocks.length] > MOST_TRIED:
                continue
            made = _make(statements, blocks, shape, taken, batch)
            if made and made.score > 0 and (not best or made.rank > best.rank):
                best = made
        return best

    best = found = most_saving(repeated)
    while found:
        best, outer = found, range(min(found.calls), min(found.calls) + found.length)
        inner = [one for one in repeated if one.length < best.length and _times_inside(one, outer) > 1]
        found = most_saving(inner)
    return best


def _repeated(statements: Sequence[Statement], taken: Set[str]) -> List[_Repeated]:
    """Returns the blocks that stand in several places; those first that may save the most lines."""
    keys = [skeleton(statement.expression)[0] + str(len(statement.targets)) for statement in statements[:-1]]
    lines = [_estimated_lines(statement) for statement in statements]
    in_loops = _lines_with_loops(statements, lines)
    found: List[_Repeated] = []
    for length in range(1, min(MOST_STATEMENTS, len(keys) // 2) + 1):
        places: Dict[Tuple[str, ...], List[int]] = collections.defaultdict(list)
        for start in range(len(keys) - length + 1):
            places[tuple(keys[start : start + length])].append(start)
        for starts in places.values():
            apart = _apart(starts, length)
            block = statements[starts[0] : starts[0] + length]
            body = sum(_lines_with_loops(block, lines[starts[0] :]))
            sizes = {start: sum(in_loops[start : start + length]) for start in apart}
            saved = sum(sizes.values()) - body - _fewest_lines(apart, length) - OVERHEAD
            is_call = length == 1 and _calls(block[0], taken)
            if saved > 0 and not is_call and not _only_asks(block):
                found.append(_Repeated(saved, length, body, sizes))
    return sorted(found, key=lambda one: (-one.saved, one.length))


def _estimated_lines(statement: Statement) -> int:
    """Returns about how many lines a statement takes."""
    return 1 + len(_OWNER.sub("", expression_text(statement.expression))) // LINE


def _lines_with_loops(statements: Sequence[Statement], lines: Sequence[int]) -> List[int]:
    """Returns the lines that statements take where runs of calls are loops: the first call of a run takes those of all.

    Args:
      statements: in order.
      lines: that each takes by itself.

    Returns:
      The lines of each.
    """
    result: List[int] = []
    for run in runs_of(statements):
        own = lines[len(result)]
        result += [own + 1, *[0] * (run.length - 1)] if run.length > 1 else [own]
    return result


def _times_inside(blocks: _Repeated, outer: range) -> int:
    """Returns how many of some blocks lie in a range of statements."""
    return sum(start in outer and start + blocks.length - 1 in outer for start in blocks.sizes)


def _make(
    statements: List[Statement],
    blocks: _Repeated,
    shape: Callable[[str], Optional[List[int]]],
    taken: Set[str],
    batch: int,
) -> Optional[_Made]:
    """Makes a function of those blocks that use their values alike; None if they cannot be one."""
    length, alike = blocks.length, _alike(statements, list(blocks.sizes), blocks.length)
    made = make_function(statements, alike, length, shape, taken, batch)
    if made is None:
        return None
    function, calls = made
    if len(function.parameters) > MOST_PARAMETERS:
        return None
    extra = PER_RESULT * (len(function.results) - 1) + PER_TENSOR * (len(function.tensors) - 1)
    extra += PER_PARAMETER * max(0, len(function.parameters) - USUAL_PARAMETERS)
    short = _without_defaults(calls)
    written = [_lines_of(s) for run in _runs(alike, length) for s in with_loops([short[start] for start in run])]
    score = sum(blocks.sizes[start] for start in alike) - blocks.body - sum(written) - OVERHEAD - extra
    return _Made(score, length, function, calls)


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


def _fewest_lines(starts: Sequence[int], length: int) -> int:
    """Returns the lines that calls in place of some blocks take at least: two for those in a row, as a loop."""
    return sum(min(len(run), 2) for run in _runs(starts, length))


def _with_short_names(expression: Expression) -> Expression:
    """Returns an expression with short names in place of those that tensors have in the old graph."""
    return replace(expression, lambda part: Name("x") if isinstance(part, Value) else None)


def _calls(statement: Statement, functions: Set[str]) -> bool:
    """Returns whether a statement is nothing but the call of one of some functions."""
    return isinstance(statement.expression, Call) and statement.expression.function in functions


def _only_asks(block: Sequence[Statement]) -> bool:
    """Returns whether a block asks for variables and computes nothing."""
    return all(isinstance(statement.expression, Variable) for statement in block)


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
