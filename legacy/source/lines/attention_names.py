"""Names of the values of attention, as its papers have them: scores, mask, probabilities and context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from legacy.source.basics.expressions import Call, Infix, Item, Literal, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.basics.expressions import Expression

#: Names of the values of attention.
SCORES, PROBABILITIES, CONTEXT, MASK = "scores", "probabilities", "context", "mask"
#: Largest factor of an additive mask: a score this low gets no probability.
_LARGEST_FACTOR = -1000.0
#: Functions that return the values of their first argument in another shape, order or type.
_SAME_VALUES = {"tf.reshape", "tf.transpose", "tf.cast", "tf.expand_dims", "tf.squeeze", "tf.stop_gradient"}


def is_additive_mask(expression: Expression) -> bool:
    """Returns whether an expression is a mask times a large negative number, as is added to scores before a softmax.

    >>> from legacy.source.basics.expressions import Name
    >>> [is_additive_mask(Infix("*", Name("x"), Literal(number))) for number in (-1e9, 2)]
    [True, False]
    """
    expression = in_own_shape(expression)
    if not isinstance(expression, Infix) or expression.symbol != "*":
        return False
    numbers = [part.value for part in (expression.left, expression.right) if isinstance(part, Literal)]
    return any(not isinstance(number, (str, list, tuple)) and number <= _LARGEST_FACTOR for number in numbers)


def in_own_shape(expression: Expression) -> Expression:
    """Returns the expression inside of reshapes, transpositions, casts and slices."""
    while isinstance(expression, Item) or isinstance(expression, Call) and expression.function in _SAME_VALUES:
        expression = expression.base if isinstance(expression, Item) else expression.arguments[0].value
    return expression


def attention_name(expression: Expression, names: Mapping[str, str]) -> str:
    """Returns the name of a value of attention that is computed from a softmax or from a named value; or "".

    >>> from legacy.source.basics.expressions import call
    >>> attention_name(call("tf.matmul", Value("p:0"), Value("v:0")), {"p:0": "probabilities", "v:0": "value"})
    'context'
    >>> attention_name(call("tf.reshape", Value("c:0"), [-1]), {"c:0": "context"})
    'context'

    Args:
      expression: computes the value.
      names: {tensor: name} of the values before it.

    Returns:
      The name.
    """
    inner = in_own_shape(expression)
    if isinstance(inner, Call) and (inner.function == "tf.matmul" or inner.function.startswith("dropout_by_")):
        made = in_own_shape(inner.arguments[0].value)
        is_softmax = isinstance(made, Call) and made.function == "tf.nn.softmax"
        is_named = isinstance(made, Value) and names.get(made.tensor) == PROBABILITIES
        is_product = inner.function == "tf.matmul"
        return (CONTEXT if is_product else PROBABILITIES) if is_softmax or is_named else ""
    name = names.get(inner.tensor, "") if isinstance(inner, Value) else ""
    return name if name in (PROBABILITIES, CONTEXT) and inner is not expression else ""
