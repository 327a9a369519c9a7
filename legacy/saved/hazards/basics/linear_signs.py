"""Signs of a loss's derivatives by the nodes that it is a sum, a mean or a multiple of."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.linear_weights import COPIES, SUMS, constant_factor
from legacy.saved.hazards.basics.sizes import is_number_of_elements


def linear_signs(whole: WholeGraph, target: str) -> dict[str, int]:
    """Finds the nodes whose elements a scalar is a linear function of, whatever the number of examples.

    Args:
      whole: the graph.
      target: the scalar's node.

    Returns:
      {node: 1 or -1, the sign of the derivative by its elements; 0 where two ways have different signs}.
    """
    found: dict[str, int] = {}
    todo = [(target, 1)]
    while todo:
        name, sign = todo.pop()
        if name in found:
            found[name] = sign if found[name] == sign else 0
            continue
        found[name] = sign
        kind, inputs = whole.graph.type(name), [tensor.node for tensor in whole.graph.inputs(name)]
        if kind in (*COPIES, "Sum", "Mean") and inputs:
            todo.append((inputs[0], sign))
        elif kind == "Neg":
            todo.append((inputs[0], -sign))
        elif kind in (*SUMS, "BiasAdd"):
            todo += [(node, -sign if kind == "Sub" and place == 1 else sign) for place, node in enumerate(inputs)]
        elif kind in ("Mul", *op_types.QUOTIENTS):
            scaled = constant_factor(whole, name)
            todo += [(scaled[0], sign if scaled[1] > 0 else -sign)] if scaled is not None and scaled[1] else []
            if scaled is None and kind in op_types.QUOTIENTS and is_number_of_elements(whole, inputs[1]):
                todo.append((inputs[0], sign))  # a mean by hand
    return found
