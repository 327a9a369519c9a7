"""Masks of rows that choose among several tensors: they are given a column's shape once, where they are computed."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Counter, Dict, List, Sequence, Tuple

from legacy.source.basics.expressions import Argument, Call, Definition, Literal, Value, calls, replace, values_used

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression

#: Gives another shape; no gradient goes through it where it takes a mask.
_RESHAPE = "tf.reshape"


def widened_once(definitions: Sequence[Definition], masks: Sequence[str]) -> List[Definition]:
    """Returns definitions in which a mask that is reshaped for each of its uses, in one way, is reshaped once.

    Args:
      definitions: each after those that it uses.
      masks: tensors of truth values.

    Returns:
      The definitions.
    """
    uses: Counter[str] = collections.Counter()
    reshapes: Dict[str, List[Call]] = {}
    for _, expression in definitions:
        uses.update(values_used(expression))
        for part in calls(expression):
            if _is_reshape(part):
                reshapes.setdefault(part.arguments[0].value.tensor, []).append(part)
    own = {targets for targets, _ in definitions}
    shapes: Dict[str, Call] = {}
    for mask in masks:
        found = reshapes.get(mask, [])
        if len(found) > 1 and len(found) == uses[mask] and len(set(found)) == 1 and (mask,) in own:
            shapes[mask] = found[0]
    return [Definition(targets, _reshaped(targets, expression, shapes)) for targets, expression in definitions]


def _reshaped(targets: Tuple[str, ...], expression: Expression, shapes: Dict[str, Call]) -> Expression:
    """Returns a definition's expression with the masks' new shapes.

    Args:
      targets: of the definition.
      expression: its expression.
      shapes: {mask: the reshape of it}.

    Returns:
      The expression.
    """

    def taken(part: Expression) -> Expression | None:
        if not isinstance(part, Call) or not _is_reshape(part):
            return None
        mask: Value = part.arguments[0].value
        return mask if shapes.get(mask.tensor) == part else None

    expression = replace(expression, taken)
    if targets and targets[0] in shapes:
        reshape = shapes[targets[0]]
        return Call(reshape.function, (Argument("", expression), *reshape.arguments[1:]))
    return expression


def _is_reshape(part: Call) -> bool:
    """Returns whether a call gives a value a known shape."""
    if part.function != _RESHAPE or len(part.arguments) != 2:
        return False
    return isinstance(part.arguments[0].value, Value) and isinstance(part.arguments[1].value, Literal)
