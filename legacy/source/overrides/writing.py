"""Writes an op with an overridden gradient: its value, and its derivative as a function of the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict

from legacy.source.basics.expressions import Expression, Lambda, Name, Value, call, replace
from legacy.source.basics.unwritten import Unwritten
from legacy.source.overrides.marking import is_backward_op

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Definition

#: The name of the gradient in a derivative, and those of the tensors that it is made from.
GRADIENT = Name("gradient")
_X = "x"
_OTHERS = ("y", "z", "u", "v")
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
}


def overridden_value(
    op: str, value: Expression, x: Expression, derivative: Expression, definition: Callable[[str], Definition | None]
) -> Expression:
    """Returns the expression of an op with an overridden gradient.

    Args:
      op: name of the op.
      value: its value.
      x: its input.
      derivative: the gradient by its input.
      definition: returns the definition that computes a tensor, or None.

    Returns:
      A call of `with_derivative`.

    Raises:
      Unwritten: the derivative takes more tensors than a function of one line should, or an op of several results.
    """
    if not isinstance(x, Value):
        raise Unwritten(f"model: the gradient of {op!r}, which is overridden, is by a constant")
    names: Dict[str, str] = {x.tensor: _X}

    def inlined(part: Expression) -> Expression | None:
        if not isinstance(part, Value):
            return None
        made = definition(part.tensor)
        if is_backward_op(op, part.tensor):
            if made is None or len(made.targets) > 1:
                raise Unwritten(f"model: the overridden gradient of {op!r} has an op of several results")
            return replace(made.expression, inlined)
        if part.tensor not in names:
            if len(names) > len(_OTHERS):
                raise Unwritten(f"model: the overridden gradient of {op!r} is made from many tensors")
            names[part.tensor] = _OTHERS[len(names) - 1]
        return Name(names[part.tensor])

    body = replace(derivative, inlined)
    parameters = ", ".join([GRADIENT.text, *names.values()])
    return call("with_derivative", value, Lambda(parameters, body), *map(Value, names))
