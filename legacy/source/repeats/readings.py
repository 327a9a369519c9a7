"""Values and skeletons of statements, kept while repeated blocks are looked for: each is asked for many times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Hashable, List, Sequence, Tuple, TypeVar

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
        self._of_all: Dict[Callable[..., Any], Tuple[List[Statement], Any]] = {}
        self._of_blocks: Dict[Hashable, Tuple[List[Statement], Any]] = {}

    def uses(self, statement: Statement) -> List[str]:
        """Returns the tensors that a statement uses, each as often as it stands there."""
        return _kept(self._uses, statement.expression, values_used)

    def skeleton(self, statement: Statement) -> Tuple[str, List[Hole]]:
        """Returns the text of a statement without what its holes hold, and the holes in order."""
        return _kept(self._skeletons, statement.expression, skeleton)

    def of_all(self, statements: Sequence[Statement], ask: Callable[[Sequence[Statement]], Answer]) -> Answer:
        """Returns the answer of a function of the module on all statements; the last one is kept for each function."""
        kept = self._of_all.get(ask)
        if kept is None or kept[0] != statements:  # the same statements are equal at once
            kept = self._of_all[ask] = list(statements), ask(statements)
        answer: Answer = kept[1]
        return answer

    def of_blocks(self, blocks: Sequence[Sequence[Statement]], beside: Hashable, ask: Callable[[], Answer]) -> Answer:
        """Returns the answer to a question on blocks of statements, which most rounds ask again.

        Args:
          blocks: the statements.
          beside: whatever else the answer depends on.
          ask: returns the answer.

        Returns:
          The answer; the statements are kept with it, so that no others get their identities.
        """
        statements = [statement for block in blocks for statement in block]
        key = tuple(map(id, statements)), len(blocks), beside
        if key not in self._of_blocks:
            self._of_blocks[key] = statements, ask()
        answer: Answer = self._of_blocks[key][1]
        return answer


def _kept(
    answers: Dict[int, Tuple[Any, Answer]], expression: Expression, ask: Callable[[Expression], Answer]
) -> Answer:
    """The answer for an expression; the expression is kept with it, so that no other one gets its identity."""
    if id(expression) not in answers:
        answers[id(expression)] = expression, ask(expression)
    return answers[id(expression)][1]
