"""Writes an op with an overridden gradient: its value, and its derivative as a function of the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from legacy.source.basics.expressions import Expression, Lambda, Listing, Name, Value, call, replace
from legacy.source.basics.unwritten import Unwritten
from legacy.source.overrides.marking import is_backward_op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from legacy.source.basics.expressions import Definition

#: The name of the gradient in a derivative, and those of the tensors that it is made from.
GRADIENT = Name("gradient")
_NAMES = ("x", "y", "z", "u", "v", "w")
#: {function: its text}.
FUNCTIONS = {
    "with_derivative": [
        "def with_derivative(value, derivative, *tensors):",
        '    """Returns a value whose derivative by the first of some tensors is `derivative(gradient, *tensors)`."""',
        "",
        "    @tf.custom_gradient",
        "    def overridden(value, *tensors):",
        "        others = [None] * (len(tensors) - 1)",
        "        return tf.identity(value), lambda gradient: [None, derivative(gradient, *tensors), *others]",
        "",
        "    return overridden(value, *tensors)",
    ],
    "with_derivatives": [
        "def with_derivatives(value, derivatives, *tensors):",
        '    """Returns a value whose derivatives by the first tensors are `derivatives(gradient, *tensors)`."""',
        "",
        "    @tf.custom_gradient",
        "    def overridden(value, *tensors):",
        "        def backward(gradient):",
        "            made = derivatives(gradient, *tensors)",
        "            return [None, *made, *[None] * (len(tensors) - len(made))]",
        "",
        "        return tf.identity(value), backward",
        "",
        "    return overridden(value, *tensors)",
    ],
}


def overridden_value(
    op: str, arguments: Sequence[Expression], count: int, definition: Callable[[str], Definition | None]
) -> Expression:
    """Returns the expression of an op with an overridden gradient.

    Args:
      op: name of the op.
      arguments: its value, its derivatives, and the tensors that these are by.
      count: how many derivatives these are.
      definition: returns the definition that computes a tensor, or None.

    Returns:
      A call of `with_derivative`, or of `with_derivatives`.

    Raises:
      Unwritten: it has the derivative by a constant, more tensors than there are names, or an op of several results.
    """
    tensors = list(arguments[1 + count :])
    if not all(isinstance(one, Value) for one in tensors):
        raise Unwritten(f"model: the gradient of {op!r}, which is overridden, is by a constant")

    def inlined(part: Expression) -> Expression | None:
        if not isinstance(part, Value):
            return None
        made = definition(part.tensor)
        if is_backward_op(op, part.tensor):
            if made is None or len(made.targets) > 1:
                raise Unwritten(f"model: the overridden gradient of {op!r} has an op of several results")
            return replace(made.expression, inlined)
        if part not in tensors:
            tensors.append(part)
        if len(tensors) > len(_NAMES):
            raise Unwritten(f"model: the overridden gradient of {op!r} is made from many tensors")
        return Name(_NAMES[tensors.index(part)])

    made = [replace(one, inlined) for one in arguments[1 : 1 + count]]
    parameters = ", ".join([GRADIENT.text, *_NAMES[: len(tensors)]])
    if count == 1:
        return call("with_derivative", arguments[0], Lambda(parameters, made[0]), *tensors)
    return call("with_derivatives", arguments[0], Lambda(parameters, Listing(tuple(made))), *tensors)
