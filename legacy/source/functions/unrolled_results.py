"""Results of unrolled steps: each has a line in every step or in none, so that all steps have the same lines."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence, Set, Tuple

from legacy.source.basics.expressions import Definition, values_used
from legacy.source.functions.unrolled import unrolled_steps
from legacy.source.lines.statements import Statement

if TYPE_CHECKING:
    from legacy.source.functions.step_bodies import Unrolled

#: Most definitions of a step, which are several to a line.
MOST_DEFINITIONS = 60


class StepsApart(NamedTuple):
    """Definitions in which each step begins after the one before has ended.

    Attributes:
      definitions: all of them.
      kept: tensors that have a line of their own.
      of_steps: tensors that steps define.
    """

    definitions: List[Definition]
    kept: Set[str]
    of_steps: Set[str]


def with_steps_apart(definitions: Sequence[Definition]) -> StepsApart:
    """Returns definitions with those of unrolled steps apart, and which of their results have lines of their own.

    A result that one step alone uses several times, or that later lines take of the last step, would otherwise have a
    line in that step and stand inside of another line in the others.

    Args:
      definitions: each after those that it uses.

    Returns:
      The definitions, and the results.
    """
    statements, runs = unrolled_steps([Statement(*one) for one in definitions], MOST_DEFINITIONS)
    users: Dict[str, List[int]] = collections.defaultdict(list)
    for number, one in enumerate(statements):
        for tensor in values_used(one.expression):
            users[tensor].append(number)
    made = StepsApart([Definition(*one) for one in statements], set(), set())
    for run in runs:
        for row in range(run.length):
            targets = [statements[start + row].targets for start in _starts(run)]
            made.of_steps.update(target for own in targets for target in own)
            inside = all(
                len(users[own[0]]) == 1 and users[own[0]][0] in range(start, start + run.length)
                for own, start in zip(targets, _starts(run))
            )
            if len(targets[0]) == 1 and not inside:
                made.kept.update(target for own in targets for target in own)
    return made


def size_with_steps(statements: Sequence[Statement]) -> Tuple[int, int]:
    """Returns how many statements some statements are if unrolled steps are loops, and the number of these loops."""
    ordered, runs = unrolled_steps(statements, completes=True)
    return len(ordered) - sum(run.length * (run.turns - 1) for run in runs), len(runs)


def steps_of_targets(statements: Sequence[Statement], runs: Sequence[Unrolled]) -> Dict[str, int]:
    """Returns {first target of a statement: number of the step that it belongs to}."""
    return {
        one.targets[0]: step
        for run in runs
        for step, start in enumerate(_starts(run))
        for one in statements[start : start + run.length]
    }


def _starts(run: Unrolled) -> range:
    """Returns the numbers of the first statements of the steps."""
    return range(run.start, run.start + run.length * run.turns, run.length)
