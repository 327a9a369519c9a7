"""Returns and advantages that a program normalizes before they weight a policy: shifted, and divided by a deviation."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.beginnings import first_value
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.reinforcement.entropies import COPIES

#: Ops whose results are never below 0.
_NEVER_NEGATIVE = ("Sqrt", "Exp", "Softplus", "Abs")
_PARTS = ("Split", "StridedSlice", "Slice", "Cast")


def is_fed(whole: WholeGraph, name: str) -> bool:
    """Returns whether a node holds what data bring, or a part of it."""
    graph = whole.graph
    while graph.type(name) in (*_PARTS, *COPIES):
        name = graph.inputs(name)[op_types.divided_input(graph.type(name))].node
    return op_types.is_source(graph.type(name))


def sign_of_normalized_returns(whole: WholeGraph, name: str) -> int:
    """Returns the sign with which fed returns are in a quotient, as of an advantage less its mean by its deviation.

    Args:
      whole: the graph.
      name: of a node.

    Returns:
      1 or -1; 0 where no quotient has them, or several have them with both signs. A mean of all returns, which shifts
      each of them, has no sign of its own.
    """
    graph, todo = whole.graph, [(name, 1, False)]
    signs = set()
    while todo:
        name, sign, is_divided = todo.pop()
        kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
        if kind in ("StopGradient", *COPIES):
            todo.append((inputs[0], -sign if kind == "Neg" else sign, is_divided))
        elif kind == "Sub" or kind in op_types.SUMS_OF_TWO:
            todo += [(one, -sign if kind == "Sub" and place else sign, is_divided) for place, one in enumerate(inputs)]
        elif kind in op_types.QUOTIENTS and _is_positive(whole, inputs[1]):
            todo.append((inputs[0], sign, True))
        elif is_divided and name in whole.data and is_fed(whole, name) and whole.value(name) is None:
            signs.add(sign)
    return signs.pop() if len(signs) == 1 else 0


def _is_positive(whole: WholeGraph, name: str) -> bool:
    """Whether a divisor is above 0: a root, perhaps with a constant, or a variable that begins so and is fixed."""
    graph = whole.graph
    while graph.type(name) in ("StopGradient", "Cast", *COPIES) and graph.type(name) != "Neg":
        name = graph.inputs(name)[0].node
    value, variable = whole.value(name), variable_read(graph, name)
    if value is not None:
        return value >= 0
    if variable:
        return variable not in whole.trainable and (first_value(whole, variable) or 0) > 0
    if graph.type(name) in ("Add", "AddV2", "Maximum"):
        return all(_is_positive(whole, tensor.node) for tensor in graph.inputs(name))
    return graph.type(name) in _NEVER_NEGATIVE
