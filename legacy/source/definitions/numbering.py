"""Numbers of computations: definitions of several towers that compute the same from the same have one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence

from legacy.source.basics.expressions import Call, Expression, Infix, Item, Name, Prefix, Value, children
from legacy.source.basics.rendering import expression_text

if TYPE_CHECKING:
    from legacy.source.definitions.recovery import Recovery


class Numbering:
    """Numbers of the definitions of some towers.

    Args:
      towers: the recovery of each tower.

    Attributes:
      numbers: for each tower, {tensor: number}.
    """

    def __init__(self, towers: Sequence[Recovery]) -> None:
        self.numbers: List[Dict[str, int]] = [{} for _ in towers]
        self._bodies = [{made.name: text for text, made in recovery.loops.items()} for recovery in towers]
        known: Dict[str, int] = {}
        for tower, recovery in enumerate(towers):
            for definition in recovery.definitions():
                text = self.key(tower, definition.expression)
                number = known.setdefault(text, len(known))
                for position, target in enumerate(definition.targets):
                    self.numbers[tower][target] = number * 64 + position

    def key(self, tower: int, expression: Expression) -> str:
        """Returns a text that is equal for equal computations of all towers."""
        if isinstance(expression, Value):
            return f"#{self.numbers[tower].get(expression.tensor, expression.tensor)}"
        if isinstance(expression, Name):
            return self._bodies[tower].get(expression.text, expression.text)
        parts: List[str] = [self.key(tower, part) for part in children(expression)]
        return f"{self.head(tower, expression)}({', '.join(parts)})" if parts else expression_text(expression)

    def head(self, tower: int, expression: Expression) -> str:
        """Returns what an expression does with its parts, as text; of a loop's function, its lines."""
        text = head(expression)
        return self._bodies[tower].get(expression.function, "") + text if isinstance(expression, Call) else text


def head(expression: Expression) -> str:
    """Returns what an expression does with its parts, as text."""
    if isinstance(expression, Call):
        keys = ",".join(argument.keyword for argument in expression.arguments)
        return f"{expression.function}[{keys}]"
    if isinstance(expression, Infix):
        return expression.symbol
    if isinstance(expression, Item):
        return f"[{expression.key}]"
    return type(expression).__name__ + (expression.symbol if isinstance(expression, Prefix) else "")
