"""Blocks of statements that stand in several places with other variables, sizes and values."""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import Call, Value, Variable
from legacy.source.repeats.readings import Readings
from legacy.source.repeats.sizes import OVERHEAD, estimated_lines, fewest_lines, lines_with_loops

if TYPE_CHECKING:
    from legacy.source.lines.statements import Statement

#: The longest block of statements that is looked for.
MOST_STATEMENTS = 40


class Repeated(NamedTuple):
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


def repeated_blocks(
    statements: Sequence[Statement],
    taken: Set[str],
    read: Optional[Readings] = None,
    steps: Optional[Dict[str, int]] = None,
) -> List[Repeated]:
    """Returns the blocks that stand in several places; those first that may save the most lines.

    Args:
      statements: of the program.
      taken: names of its functions, whose calls alone are no blocks.
      read: keeps what is read of the statements.
      steps: {first target of a statement: number of its step} of unrolled steps, which become a loop as they are.

    Returns:
      The blocks.
    """
    read, steps = read or Readings(), steps or {}
    keys = [
        f"{read.skeleton(one)[0]}{len(one.targets)} {steps.get(one.targets[0], '') if one.targets else ''}"
        for one in statements[:-1]
    ]
    lines = [estimated_lines(statement) for statement in statements]
    before = [0, *itertools.accumulate(lines_with_loops(statements, lines, read))]
    found: List[Repeated] = []
    for length in range(1, min(MOST_STATEMENTS, len(keys) // 2) + 1):
        places: Dict[Tuple[str, ...], List[int]] = collections.defaultdict(list)
        for start in range(len(keys) - length + 1):
            places[tuple(keys[start : start + length])].append(start)
        for starts in places.values():
            apart = _apart(starts, length)
            if len(apart) < 2:
                continue
            sizes = {start: before[start + length] - before[start] for start in apart}
            at_most = sum(sizes.values()) - fewest_lines(apart, length) - OVERHEAD
            if at_most <= 0:
                continue
            block = statements[starts[0] : starts[0] + length]
            body = sum(lines_with_loops(block, lines[starts[0] : starts[0] + length], read))
            saved = at_most - body
            is_call = length == 1 and _calls(block[0], taken)
            if saved > 0 and not is_call and not _only_asks(block):
                found.append(Repeated(saved, length, body, sizes))
    return sorted(found, key=lambda one: (-one.saved, one.length))


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


def alike_blocks(
    statements: Sequence[Statement], starts: Sequence[int], length: int, read: Optional[Readings] = None
) -> List[int]:
    """Chooses blocks that use their inner values at the same places.

    Args:
      statements: of the program.
      starts: of the blocks.
      length: of each block.
      read: keeps what is read of the statements.

    Returns:
      The starts of the most blocks that do so alike.
    """
    read = read or Readings()
    groups: Dict[Tuple[Any, ...], List[int]] = collections.defaultdict(list)
    for start in starts:
        groups[_inner_uses(statements[start : start + length], read)].append(start)
    return max(groups.values(), key=len)


def _inner_uses(block: Sequence[Statement], read: Readings) -> Tuple[Any, ...]:
    """Returns, for each place of a value in a block, the row and number of the inner target there, or None."""
    inner = {target: (row, n) for row, s in enumerate(block) for n, target in enumerate(s.targets)}
    holes = [hole.content for s in block for hole in read.skeleton(s)[1] if hole.kind == "value"]
    return tuple(inner.get(content.tensor) if isinstance(content, Value) else None for content in holes)
