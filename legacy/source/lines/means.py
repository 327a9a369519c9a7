"""Means of a loss's terms: a sum in order that is divided by the number of its terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional, Sequence

from legacy.source.basics.expressions import Call, Expression, Infix, Listing, Literal, call, replace

if TYPE_CHECKING:
    from legacy.source.lines.statements import Statement

_NAME = "mean_in_order"
#: {function: its text}.
FUNCTIONS = {
    _NAME: [
        f"def {_NAME}(terms):",
        '    """Returns the mean of the terms of a loss, added in their order; the gradient gets to all at once."""',
        "    return tf.cumsum(tf.stack(terms))[-1] / len(terms)",
    ]
}


def name_means(statements: Sequence[Statement]) -> List[Statement]:
    """Returns statements in which such a quotient is a call of one function, `mean_in_order`."""
    return [statement._replace(expression=replace(statement.expression, _mean)) for statement in statements]


def _mean(part: Expression) -> Optional[Expression]:
    """Returns the mean that an expression is, or None."""
    if not isinstance(part, Infix) or part.symbol != "/" or not isinstance(part.right, Literal):
        return None
    terms = part.left.arguments[0].value if _is_sum_in_order(part.left) else None
    if not isinstance(terms, Listing) or part.right.value != len(terms.items):
        return None
    return call(_NAME, terms)


def _is_sum_in_order(part: Expression) -> bool:
    return isinstance(part, Call) and part.function == "add_in_order"
