"""Values and skeletons of statements, kept while repeated blocks are looked for: each is asked for many times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Tuple, TypeVar

from legacy.source.basics.expressions import values_used
from legacy.source.lines.holes import skeleton

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression
    from legacy.source.lines.holes import Hole
    from legacy.source.lines.statements import Statement

Answer = TypeVar("Answer")


class Readings:
    """The values and skeletons of statements, by their expressions, which stay the same from round to round.

    An expression is told by its identity: its hash would take as long as the answer.
    """

    def __init__(self) -> None:
        self._uses: Dict[int, Tuple[Expression, List[str]]] = {}
        self._skeletons: Dict[int, Tuple[Expression, Tuple[str, List[Hole]]]] = {}

    def uses(self, statement: Statement) -> List[str]:
        """Returns the tensors that a statement uses, each as often as it stands there."""
        return _kept(self._uses, statement.expression, values_used)

    def skeleton(self, statement: Statement) -> Tuple[str, List[Hole]]:
        """Returns the text of a statement without what its holes hold, and the holes in order."""
        return _kept(self._skeletons, statement.expression, skeleton)


def _kept(
    answers: Dict[int, Tuple[Any, Answer]], expression: Expression, ask: Callable[[Expression], Answer]
) -> Answer:
    """The answer for an expression; the expression is kept with it, so that no other one gets its identity."""
    if id(expression) not in answers:
        answers[id(expression)] = expression, ask(expression)
    return answers[id(expression)][1]
