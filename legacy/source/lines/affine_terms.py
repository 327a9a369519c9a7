"""Scales and offsets that end a normalization, as terms of a longer sum: each has a line of its own, with its layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence, Set

from legacy.source.basics.expressions import Infix, Value, Variable

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Definition, Expression


def affine_terms(definitions: Sequence[Definition]) -> Set[str]:
    """Returns the tensors that are scaled by a variable and have another one added, and that a sum takes.

    Within the sum, `x * gamma + beta + y`, the offset would stand apart from its layer, and the layer be unlike others.

    Args:
      definitions: each after those that it uses.
    """
    made: Dict[str, Expression] = {d.targets[0]: d.expression for d in definitions if len(d.targets) == 1}

    def resolved(part: Expression) -> Expression:
        return made.get(part.tensor, part) if isinstance(part, Value) else part

    def is_affine(part: Expression) -> bool:
        sides = [resolved(side) for side in _operands(part, "+")]
        factors = [resolved(factor) for side in sides for factor in _operands(side, "*")]
        return all(any(isinstance(one, Variable) for one in found) for found in (sides, factors))

    terms = [term for expression in made.values() for term in _operands(expression, "+") if isinstance(term, Value)]
    return {term.tensor for term in terms if is_affine(resolved(term))}


def _operands(part: Expression, symbol: str) -> List[Expression]:
    return [part.left, part.right] if isinstance(part, Infix) and part.symbol == symbol else []
