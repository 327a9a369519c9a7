"""Outlining: statements that are repeated with other variables and sizes become a function that is called."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Counter, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import Call, Expression, Listing, Literal, Name, Value, calls
from legacy.source.functions.unrolled import unrolled_steps
from legacy.source.functions.unrolled_results import steps_of_targets
from legacy.source.lines.statements import Statement
from legacy.source.repeats.abstraction import Function, make_function
from legacy.source.repeats.blocks import Repeated, alike_blocks, repeated_blocks
from legacy.source.repeats.defaults import with_defaults
from legacy.source.repeats.readings import Readings
from legacy.source.repeats.runs import with_loops
from legacy.source.repeats.sizes import OVERHEAD, lines_of_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


#: How often blocks are looked for.
MOST_ROUNDS = 16
#: Blocks of one length that are tried in one round: long blocks that overlap are many, and most are no functions.
MOST_TRIED = 6
#: Lines that results, tensors and parameters beyond the usual are worth.
PER_RESULT, PER_TENSOR, PER_PARAMETER, USUAL_PARAMETERS = 8, 3, 2, 5
#: Parameters beyond which nobody reads a call.
MOST_PARAMETERS = 12


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
    steps: Dict[str, int] = {}
    for (statements, _), end in zip(parts, ends):
        ordered, runs = unrolled_steps(statements)
        steps.update(steps_of_targets(ordered, runs))
        rest += [*ordered, Statement((), end)]
    functions: List[Function] = []
    read = Readings()
    # also those of idioms, such as `gru_cell`, which is the name of many a scope
    taken = {*taken, *(part.function for statement in rest for part in calls(statement.expression))}
    for _ in range(MOST_ROUNDS):
        best = _best(rest, shape, {*taken, *(function.name for function in functions)}, batch, read, steps)
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
    statements: List[Statement],
    shape: Callable[[str], Optional[List[int]]],
    taken: Set[str],
    batch: int,
    read: Readings,
    steps: Dict[str, int],
) -> Optional[_Made]:
    """Returns the function that saves the most lines; one that is repeated inside its blocks comes before it."""
    repeated = repeated_blocks(statements, taken, read, steps)

    def most_saving(among: Sequence[Repeated]) -> Optional[_Made]:
        best: Optional[_Made] = None
        tried: Counter[int] = collections.Counter()
        for blocks in among:
            if best and blocks.saved < best.score:
                break
            tried[blocks.length] += 1
            if tried[blocks.length] > MOST_TRIED:
                continue
            made = _make(statements, blocks, shape, taken, batch, read)
            if made and made.score > 0 and (not best or made.rank > best.rank):
                best = made
        return best

    best = found = most_saving(repeated)
    while found:
        best, outer = found, range(min(found.calls), min(found.calls) + found.length)
        inner = [one for one in repeated if one.length < best.length and _times_inside(one, outer) > 1]
        found = most_saving(inner)
    return best


def _times_inside(blocks: Repeated, outer: range) -> int:
    """Returns how many of some blocks lie in a range of statements."""
    return sum(start in outer and start + blocks.length - 1 in outer for start in blocks.sizes)


def _make(
    statements: List[Statement],
    blocks: Repeated,
    shape: Callable[[str], Optional[List[int]]],
    taken: Set[str],
    batch: int,
    read: Readings,
) -> Optional[_Made]:
    """Makes a function of those blocks that use their values alike; None if they cannot be one."""
    length, alike = blocks.length, alike_blocks(statements, list(blocks.sizes), blocks.length, read)
    made = make_function(statements, alike, length, shape, taken, batch, read)
    if made is None:
        return None
    function, calls = made
    if len(function.parameters) > MOST_PARAMETERS or _only_renames(function):
        return None
    extra = PER_RESULT * (len(function.results) - 1) + PER_TENSOR * (len(function.tensors) - 1)
    extra += PER_PARAMETER * max(0, len(function.parameters) - USUAL_PARAMETERS)
    taken_now = sum(blocks.sizes[start] for start in alike)
    score = taken_now - blocks.body - lines_of_calls(calls, length) - OVERHEAD - extra
    return _Made(score, length, function, calls)


def _only_renames(function: Function) -> bool:
    """Returns whether a function does no more than to call functions of TensorFlow on what it is given."""
    return all(_is_call_on_what_is_given(statement.expression, function) for statement in function.statements)


def _is_call_on_what_is_given(made: Expression, function: Function) -> bool:
    """Returns whether an expression in a function is one call, and takes no result of another statement."""
    if not isinstance(made, Call) or not made.function.startswith("tf."):
        return False
    results = {name for statement in function.statements for name in statement.targets}
    given = [argument.value for argument in made.arguments]
    given = [item for one in given for item in (one.items if isinstance(one, Listing) else [one])]
    return all(
        isinstance(one, (Literal, Name)) or (isinstance(one, Value) and one.tensor not in results) for one in given
    )
