"""Differences between towers: a term that only one tower's loss has becomes a conditional term."""

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
    from collections.abc import Mapping, Sequence

    from legacy.source.definitions.recovery import Recovery

#: Operator of "this where the replica is the first one, else that".
FIRST_ONLY = "if scope.replica == 0 else"
#: Likewise the last one, of any number of replicas: a name that a Python loop leaves is its last tower's.
LAST_ONLY = "if scope.replica == scope.replicas - 1 else"


def merge_losses(towers: Sequence[Recovery], losses: Sequence[Expression]) -> Expression:
    """Merges the losses of all towers, of which one differs.

    Args:
      towers: the recovery of each tower; the first one adopts what it lacks.
      losses: of each tower.

    Returns:
      The loss in terms of the first tower; where one tower has a term that the others lack, that term stands under the
      condition that the replica is this one.

    Raises:
      Unwritten: they differ in another way.
    """
    other = _tower_that_differs(towers, losses)
    return _Merge(towers[0], towers[other], _only(other, len(towers))).merged(losses[0], losses[other])


def _only(tower: int, towers: int) -> str:
    """Returns the operator of "this where the replica is the one of a tower, else that"."""
    if tower == towers - 1:
        return LAST_ONLY
    return f"if scope.replica == {tower} else" if tower else FIRST_ONLY


def _tower_that_differs(towers: Sequence[Recovery], losses: Sequence[Expression]) -> int:
    """Returns the number of the first tower whose loss is unlike the first one's; 1 if all losses are alike."""
    numbering = Numbering(towers)
    keys = [numbering.key(tower, loss) for tower, loss in enumerate(losses)]
    return next((tower for tower, key in enumerate(keys) if key != keys[0]), 1)


def adopt_values(
    first: Recovery, second: Recovery, ends: Sequence[Expression], same: Mapping[str, str]
) -> List[Expression]:
    """Writes what one tower computes in terms of another tower's values, which adopts the rest.

    Args:
      first: the tower that adopts.
      second: the other one.
      ends: expressions of `second`.
      same: {tensor of `second`: tensor of `first` that stands for both} where the two are not computed alike.

    Returns:
      The same expressions in terms of `first`.
    """
    merge = _Merge(first, second, same=same)
    return [merge.adopted(end) for end in ends]


class _Merge:
    """Compares definitions of the first tower and of another one by what they compute.

    Args:
      first: the first tower.
      second: the other one.
      second_only: operator of "this where the replica is the second one, else that".
      same: see `adopt_values`.
    """

    def __init__(
        self, first: Recovery, second: Recovery, second_only: str = LAST_ONLY, same: Mapping[str, str] | None = None
    ) -> None:
        self._sides = (first, second)
        self._second_only, self._same = second_only, dict(same or {})
        numbering = Numbering(self._sides)
        self._numbers, self._key, self._head = numbering.numbers, numbering.key, numbering.head
        #: {number of a computation: the first tower's tensor that it gives}.
        self._first_tensors = {number: tensor for tensor, number in self._numbers[0].items()}

    def merged(self, one: Expression, two: Expression) -> Expression:
        """Returns one expression for both towers."""
        wholes = (one, two)
        if self._key(0, one) == self._key(1, two):
            return one
        if _is_zero(two) or _is_zero(one):
            return self._choice(one, two, of_first=_is_zero(two))
        one, two = self._opened(0, one), self._opened(1, two)
        for side, (longer, others) in enumerate([(one, (wholes[1], two)), (two, (wholes[0], one))]):
            keys = [self._key(1 - side, shorter) for shorter in others]
            for term, rest in _terms(longer):
                if self._key(side, rest) in keys:
                    return self._conditional(rest, term, side)
        left, right = children(one), children(two)
        same_head = type(one) is type(two) and len(left) == len(right) and self._head(0, one) == self._head(1, two)
        unequal = [i for i, pair in enumerate(zip(left, right)) if self._key(0, pair[0]) != self._key(1, pair[1])]
        if not same_head or len(unequal) != 1:
            for other in (wholes[1], two):
                if self._computed_by(0, 1, other):
                    return self._choice(one, other, of_first=True)
            for own in (wholes[0], one):
                if self._computed_by(1, 0, own):
                    return self._choice(own, two, of_first=False)
            raise Unwritten(f"towers: they differ: {expression_text(one)} against {expression_text(two)}")
        changed = list(left)
        changed[unequal[0]] = self.merged(left[unequal[0]], right[unequal[0]])
        return with_children(one, tuple(changed))

    def _choice(self, one: Expression, two: Expression, of_first: bool) -> Expression:
        """Returns the choice between two expressions; `of_first` if the first tower's is the one with a condition."""
        if of_first:
            return Infix(FIRST_ONLY, one, self.adopted(two))
        return Infix(self._second_only, self.adopted(two), one)

    def _conditional(self, rest: Expression, term: Expression, side: int) -> Expression:
        """Returns a sum of which one tower alone has a term."""
        zero = Literal(0.0)
        if side == 0:
            return Infix("+", rest, Infix(FIRST_ONLY, term, zero))
        return Infix("+", self.adopted(rest), Infix(self._second_only, self.adopted(term), zero))

    def _computed_by(self, side: int, other: int, expression: Expression) -> bool:
        """Returns whether one tower computes everything that an expression of the other one uses."""
        known = set(self._numbers[side].values())
        return all(self._numbers[other].get(tensor, -1) in known for tensor in values_used(expression))

    def adopted(self, expression: Expression) -> Expression:
        """Returns an expression of the second tower in terms of the first one's values."""

        def moved(part: Expression) -> Expression | None:
            if not isinstance(part, Value):
                return None
            numbered = self._first_tensors.get(self._numbers[1].get(part.tensor, -1))
            same = self._same.get(part.tensor, numbered)
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


def _is_zero(expression: Expression) -> bool:
    return isinstance(expression, Literal) and float(expression.value) == 0.0
