"""Differences between towers: a term that only the first tower's loss has becomes a conditional term."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Tuple

from legacy.source.basics.expressions import (
    Expression,
    Infix,
    Literal,
    Value,
    children,
    replace,
    values_used,
    with_children,
)
from legacy.source.basics.rendering import expression_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.numbering import Numbering

if TYPE_CHECKING:
    from collections.abc import Sequence

    from legacy.source.definitions.recovery import Recovery

#: Operator of "this where the replica is the first one, else that".
FIRST_ONLY = "if scope.replica == 0 else"


def merge_losses(first: Recovery, loss: Expression, second: Recovery, other: Expression) -> Expression:
    """Merges the losses of two towers.

    Args:
      first: the first tower.
      loss: its loss.
      second: another tower.
      other: that one's loss.

    Returns:
      The first tower's loss; where it has a term that the other one lacks, that term stands under the condition that
      the replica is the first one.

    Raises:
      Unwritten: they differ in another way.
    """
    return _Merge(first, second).merged(loss, other)


def adopt_values(first: Recovery, second: Recovery, ends: Sequence[Expression]) -> List[Expression]:
    """Writes what one tower computes in terms of another tower's values, which adopts the rest.

    Args:
      first: the tower that adopts.
      second: the other one.
      ends: expressions of `second`.

    Returns:
      The same expressions in terms of `first`.
    """
    merge = _Merge(first, second)
    return [merge.adopted(end) for end in ends]


class _Merge:
    """Compares definitions of two towers by what they compute."""

    def __init__(self, first: Recovery, second: Recovery) -> None:
        self._sides = (first, second)
        numbering = Numbering(self._sides)
        self._numbers, self._key, self._head = numbering.numbers, numbering.key, numbering.head
        #: {number of a computation: the first tower's tensor that it gives}.
        self._first_tensors = {number: tensor for tensor, number in self._numbers[0].items()}

    def merged(self, one: Expression, two: Expression) -> Expression:
        """Returns one expression for both towers."""
        if self._key(0, one) == self._key(1, two):
            return one
        if isinstance(two, Literal) and float(two.value) == 0.0:
            return Infix(FIRST_ONLY, one, two)
        whole = two
        one, two = self._opened(0, one), self._opened(1, two)
        for term, rest in _terms(one):
            if self._key(0, rest) in (self._key(1, whole), self._key(1, two)):
                return _conditional(rest, term)
        left, right = children(one), children(two)
        same_head = type(one) is type(two) and len(left) == len(right) and self._head(0, one) == self._head(1, two)
        unequal = [i for i, pair in enumerate(zip(left, right)) if self._key(0, pair[0]) != self._key(1, pair[1])]
        if not same_head or len(unequal) != 1:
            for other in (whole, two):
                if self._first_computes(other):
                    return Infix(FIRST_ONLY, one, self.adopted(other))
            raise Unwritten(f"towers: they differ: {expression_text(one)} against {expression_text(two)}")
        changed = list(left)
        changed[unequal[0]] = self.merged(left[unequal[0]], right[unequal[0]])
        return with_children(one, tuple(changed))

    def _first_computes(self, expression: Expression) -> bool:
        """Returns whether the first tower computes everything that an expression of the second one uses."""
        return all(self._numbers[1].get(tensor, -1) in self._first_tensors for tensor in values_used(expression))

    def adopted(self, expression: Expression) -> Expression:
        """Returns an expression of the second tower in terms of the first one's values."""

        def moved(part: Expression) -> Expression | None:
            if not isinstance(part, Value):
                return None
            same = self._first_tensors.get(self._numbers[1].get(part.tensor, -1))
            if same is not None:
                return Value(same)
            definition = self._sides[1].definition(part.tensor)
            if definition is not None and self._sides[0].definition(part.tensor) is None:
                own = definition._replace(expression=self.adopted(definition.expression))
                self._sides[0].adopt(own, self._sides[1])
            return part

        return replace(expression, moved)

    def _opened(self, side: int, expression: Expression) -> Expression:
        """Returns the definition of a value."""
        if isinstance(expression, Value):
            definition = self._sides[side].definition(expression.tensor)
            if definition is not None and len(definition.targets) == 1:
                return definition.expression
        return expression


def _terms(expression: Expression) -> List[Tuple[Expression, Expression]]:
    """Returns the (term, rest) that a sum may be divided into."""
    if isinstance(expression, Infix) and expression.symbol == "+":
        return [(expression.right, expression.left), (expression.left, expression.right)]
    return []


def _conditional(rest: Expression, term: Expression) -> Expression:
    return Infix("+", rest, Infix(FIRST_ONLY, term, Literal(0.0)))
