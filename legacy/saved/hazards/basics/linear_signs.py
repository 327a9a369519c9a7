"""Signs of a loss's derivatives by the nodes that it is a sum, a mean or a multiple of."""

from __future__ import annotations

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.folding.decided import COMPARISONS
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.linear_weights import COPIES, SUMS, constant_factor
from legacy.saved.hazards.basics.sizes import is_number_of_elements
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.basics.weighed_values import counted_elements
from workloads.lifted.graph import TensorId

#: Ops whose results are above 0, as those of a schedule.
_NEVER_NEGATIVE = ("Sigmoid", "Exp", "Softplus")
#: Ops that give numbers above 0 of such numbers.
_OF_STEPS = (
    *("Cast", "Identity", "Mul", "Add", "AddV2", "Minimum", "Maximum"),
    *("Pow", "Sqrt", "Rsqrt", "Select", "SelectV2"),
)
_WHOLE_NUMBERS = (tf.int32.as_datatype_enum, tf.int64.as_datatype_enum)
#: {op: the first of its inputs that are values, as a choice has its condition before them}.
_VALUES = {"Mul": 0, "Fill": 1, "Select": 1, "SelectV2": 1}


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
        elif kind in op_types.SCALINGS:
            scaled = constant_factor(whole, name)
            todo += [(scaled[0], sign if scaled[1] > 0 else -sign)] if scaled is not None and scaled[1] else []
            todo += [(node, sign * own) for node, own in _weighted(whole, name) if scaled is None]
            is_mean = scaled is None and kind in op_types.QUOTIENTS
            if is_mean and (is_number_of_elements(whole, inputs[1]) or _is_count(whole, inputs[1])):
                todo.append((inputs[0], sign))  # a mean by hand, or of `tf.losses`
            elif is_mean:
                todo += [(node, sign) for node in _weighted_values(whole, *inputs[:2])]
    return found


def _weighted_values(whole: WholeGraph, total: str, divisor: str) -> list[str]:
    """The values x of a weighted mean sum(w x) / sum(w) of data w: it rises with each x, whatever sign all w have."""
    graph, weights = whole.graph, counted_elements(whole, divisor)
    product = graph.origin(graph.inputs(total)[0]).node if graph.type(total) == "Sum" else ""
    if not weights or not product or graph.type(product) != "Mul":
        return []
    factors = graph.inputs(product)
    sources = [source_of_elements(graph, factor).node for factor in factors]
    return [factors[1 - sources.index(weights)].node] if sources.count(weights) == 1 else []


def _is_count(whole: WholeGraph, name: str) -> bool:
    """Whether a node adds up zeros and ones, or other constants that are not negative, as `tf.losses` counts losses.

    Zeros and ones may be answers of a comparison, as of labels, and a count of them at least 1.
    """
    graph, todo, has_sum = whole.graph, [name], False
    while todo:
        node = todo.pop()
        kind, inputs = graph.type(node), [tensor.node for tensor in graph.inputs(node)]
        has_sum |= kind == "Sum"
        if kind in (*COPIES, "Sum") and inputs:
            todo.append(inputs[0])
        elif kind in _VALUES or kind == "Maximum":
            todo += inputs[_VALUES.get(kind, 0) :]
        elif kind not in ("ZerosLike", "OnesLike", *COMPARISONS):
            numbers = constant_array(graph, node)
            if numbers is None or not (numbers >= 0).all():
                return False
    return has_sum


def _weighted(whole: WholeGraph, name: str) -> list[tuple[str, int]]:
    """(a factor of a product, the sign of the other one) where nothing trains that.

    Its sign is that of a placeholder's default, of an op of settings and variables whose results are never negative,
    or of products of them and constants.
    """
    graph = whole.graph
    if graph.type(name) != "Mul":
        return []
    first, second = (tensor.node for tensor in graph.inputs(name))
    signs = [(value, _sign_of_weight(whole, weight)) for weight, value in ((first, second), (second, first))]
    return [(value, sign) for value, sign in signs if sign][:1]


def _sign_of_weight(whole: WholeGraph, name: str) -> int:
    graph, source = whole.graph, whole.graph.origin(TensorId(name, 0)).node
    kind, inputs = graph.type(source), [tensor.node for tensor in graph.inputs(source)]
    number = whole.value(inputs[0] if kind == "PlaceholderWithDefault" else source)
    if number is not None:
        return int(number > 0) - int(number < 0)
    if source in whole.data:
        return 0
    if kind == "Neg":
        return -_sign_of_weight(whole, inputs[0])
    if kind == "Mul":
        return _sign_of_weight(whole, inputs[0]) * _sign_of_weight(whole, inputs[1])
    is_trained = bool(graph.ancestors([source], controls=False) & whole.trainable)
    return int(not is_trained and (kind in _NEVER_NEGATIVE or is_share_of_steps(whole, source)))


def is_share_of_steps(whole: WholeGraph, name: str) -> bool:
    """Returns whether a node is a number that counted steps and constants above 0 give, such as min(1, step / 1000)."""
    graph, source = whole.graph, whole.graph.origin(TensorId(name, 0)).node
    number = whole.value(source)
    if number is not None:
        return number > 0
    variable = variable_read(graph, source)
    if variable:
        is_whole = graph.nodes[variable].attr["dtype"].type in _WHOLE_NUMBERS
        return is_whole and variable not in whole.trainable and whole.is_scalar(variable)
    inputs = [tensor.node for tensor in graph.inputs(source)]
    values = inputs[_VALUES.get(graph.type(source), 0) :]
    is_known = graph.type(source) in (*_OF_STEPS, *op_types.QUOTIENTS) and bool(values)
    return is_known and all(is_share_of_steps(whole, before) for before in values)
