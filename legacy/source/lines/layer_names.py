"""Names of the layers whose variables an expression is computed from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List

from legacy.source.basics.expressions import Literal, Name, Scoped, Variable, calls, leaves
from legacy.source.lines.identifiers import variable_text

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression

#: Layer names that a value may be given: without numbers, which only count layers of one kind.
_OF_LAYERS = re.compile(r"[a-z][a-z_]{0,14}")
#: Words that name the kind of a layer, or a part of a network, and not its result.
_KINDS = {"dense", "conv", "deconv", "fc", "linear", "fully", "connected", "layer", "layers", "block", "unit", "cell"}
_KINDS |= {"model", "net", "network", "tower", "norm", "normalization", "batch", "bn", "ln", "gn", "matmul", "proj"}
_KINDS |= {"lstm", "gru", "rnn", "convolution", "separable", "depthwise", "transpose", "variables", "params", "main"}
#: Expressions that may hold the name of a layer.
_NAMING = (Literal, Name, Scoped)


def layer_name(expression: Expression) -> str:
    """Returns the name of the only layer in an expression, if it names the layer's result; otherwise "".

    >>> [layer_name(Variable(f"m/{layer}/kernel", (8, 8), "", True)) for layer in ("query", "dense", "fc1")]
    ['query', '', '']
    """
    layers = {folders[-1] if folders else "" for folders in layers_of(expression)}
    layer = layers.pop() if len(layers) == 1 else ""
    return layer if _OF_LAYERS.fullmatch(layer) and not set(layer.split("_")) & _KINDS else ""


def layers_of(expression: Expression) -> List[List[str]]:
    """Returns the scopes of the variables in an expression, and those passed to functions that build layers.

    >>> layers_of(Variable("m/query/kernel", (8, 8), "", True))
    [['m', 'query']]
    """
    found = [variable_text(leaf.name).split("/")[:-1] for leaf in leaves(expression) if isinstance(leaf, Variable)]
    given = [argument.value for part in calls(expression) if "." not in part.function for argument in part.arguments]
    texts = [one.value if isinstance(one, Literal) else variable_text(one) for one in given if isinstance(one, _NAMING)]
    return found + [text.strip('"').split("/") for text in texts if isinstance(text, str) and "/" in text]
