"""Global norms of an update: what `tf.clip_by_global_norm` of 1.x computes becomes `tf.linalg.global_norm`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from legacy.source.basics.expressions import Call, Infix, Listing, Literal, Name, Value, call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from legacy.source.basics.expressions import Expression
    from legacy.source.definitions.recovery import Recovery

#: Ending of the text of a gradient's rows.
_ROWS = ".values"


def name_global_norms(recovery: Recovery, calls: Sequence[Sequence[Expression]]) -> None:
    """Puts `tf.linalg.global_norm` in place of the ops that it consists of, `sqrt(sum(stack(l2_losses)) * 2)`.

    Args:
      recovery: of an update; its definitions are changed.
      calls: the changes of each unit.
    """

    def definition_of(expression: Expression) -> Expression:
        made = recovery.definition(expression.tensor) if isinstance(expression, Value) else None
        return definition_of(made.expression) if made is not None and len(made.targets) == 1 else expression

    for definition in recovery.ordered([one for own in calls for one in own]):
        norm = _global_norm(definition.expression, definition_of)
        if norm is not None:
            for target in definition.targets:
                recovery.redefine(target, definition._replace(expression=norm))


def _global_norm(expression: Expression, definition_of: Callable[[Expression], Expression]) -> Optional[Expression]:
    """Returns the call that computes the same as an expression; None if that is no global norm."""
    root = _argument(expression, "tf.sqrt")
    product = definition_of(root) if root is not None else None
    if not isinstance(product, Infix) or product.symbol != "*" or product.right != Literal(2.0):
        return None
    total = _argument(definition_of(product.left), "tf.reduce_sum")
    stack = _argument(definition_of(total), "tf.stack") if total is not None else None
    if not isinstance(stack, Listing):
        return None
    halves = [_argument(definition_of(item), "tf.nn.l2_loss") for item in stack.items]
    if any(half is None for half in halves):
        return None
    return call(
        "tf.linalg.global_norm", Listing(tuple(_with_rows(half, definition_of) for half in halves if half is not None))
    )


def _argument(expression: Expression, function: str) -> Optional[Expression]:
    """Returns the only argument of a call of a function; None of another expression."""
    if not isinstance(expression, Call) or expression.function != function or len(expression.arguments) != 1:
        return None
    argument: Expression = expression.arguments[0].value
    return argument


def _with_rows(gradient: Expression, definition_of: Callable[[Expression], Expression]) -> Expression:
    """Returns a gradient of which the values of the rows are given; its norm is theirs."""
    made = definition_of(gradient)
    if isinstance(made, Name) and made.text.endswith(_ROWS):
        return Name(made.text[: -len(_ROWS)])
    return gradient
