"""Signs of values: what is never below 0, or never above, whatever the data and the weights are."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.folding.decided import COMPARISONS
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import joined_parts
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.elements import source_of_elements

#: Ops that hand on values, or sums and choices of them, and so their sign.
_KEEPS = (
    *("Identity", "Cast", "Reshape", "Squeeze", "ExpandDims", "Transpose", "Sum", "Mean", "Max", "Min", "Tile"),
    *("StridedSlice", "Slice", "StopGradient", "Pack", *op_types.JOINS, "AddN", "Add", "AddV2", "Maximum", "Minimum"),
)
_NEVER_NEGATIVE = (
    *("Square", "SquaredDifference", "Exp", "Abs", "Relu", "Relu6", "Sigmoid", "Softmax", "Softplus", "Sqrt", "Rsqrt"),
    *("L2Loss", "RandomUniform", "SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits"),
    *(*COMPARISONS, "LogicalAnd", "LogicalOr", "LogicalNot", "OnesLike", "ZerosLike"),
)
#: Ops all of whose inputs are values, and no sizes or axes.
_OF_VALUES = ("Add", "Pack", "AddN", "AddV2", "Maximum", "Minimum")
_DEEPEST = 40


class ValueSigns:
    """Signs of the values of a graph's nodes.

    Args:
      whole: the graph.
    """

    def __init__(self, whole: WholeGraph) -> None:
        self._whole = whole
        self._known: dict[str, int] = {}

    def of(self, name: str, depth: int = _DEEPEST) -> int:
        """Returns 1 of a node whose values are never below 0, -1 of never above 0, and 0 of any other."""
        if name not in self._known:
            self._known[name] = self._find(name, depth) if depth else 0
        return self._known[name]

    def _find(self, name: str, depth: int) -> int:
        graph = self._whole.graph
        kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
        if kind == "Const":
            numbers = constant_array(graph, name)
            return 0 if numbers is None else 1 if (numbers >= 0).all() else -1 if (numbers <= 0).all() else 0
        if kind in _NEVER_NEGATIVE or is_share(self._whole, name):
            return 1
        if kind == "OneHot":  # of any two numbers, such as 1 and -1
            signs = {self.of(before, depth - 1) for before in inputs[2:4]}
            return signs.pop() if len(signs) == 1 else 0
        if kind == "Neg":
            return -self.of(inputs[0], depth - 1)
        if kind in op_types.SCALINGS:
            if graph.origin(graph.inputs(name)[0]) == graph.origin(graph.inputs(name)[1]):
                return 1
            return self.of(inputs[0], depth - 1) * self.of(inputs[1], depth - 1)
        if kind == "Prod":  # of negative numbers, it has either sign
            return max(self.of(inputs[0], depth - 1), 0)
        if kind == "Pow":
            power = self._whole.value(inputs[1])
            is_even = power is not None and power % 2 == 0
            return 1 if is_even else max(self.of(inputs[0], depth - 1), 0)
        if kind == "Maximum" and any(self.of(before, depth - 1) > 0 for before in inputs):
            return 1
        if kind == "Minimum" and any(self.of(before, depth - 1) < 0 for before in inputs):
            return -1
        if kind == "Sub":
            return self._of_difference(inputs, depth)
        if kind in ("Select", "SelectV2", "Fill"):
            signs = {self.of(before, depth - 1) for before in inputs[1:]}
            return signs.pop() if len(signs) == 1 else 0
        if kind not in _KEEPS:
            return 0
        joined = [tensor.node for tensor in joined_parts(self._whole.graph, name)]
        values = joined or (inputs if kind in _OF_VALUES else inputs[:1])
        signs = {self.of(before, depth - 1) for before in values}
        return signs.pop() if len(signs) == 1 else 0

    def _of_difference(self, inputs: list[str], depth: int) -> int:
        """1 of 1 less a share."""
        if self._whole.value(inputs[0]) == 1 and is_probability(self._whole, inputs[1]):
            return 1
        signs = {self.of(inputs[0], depth - 1), -self.of(inputs[1], depth - 1)}
        return signs.pop() if len(signs) == 1 else 0


def is_probability(whole: WholeGraph, name: str) -> bool:
    """Returns whether a node holds numbers from 0 to 1, perhaps 1 less such, or a choice of two."""
    graph, inputs = whole.graph, [tensor.node for tensor in whole.graph.inputs(name)]
    if graph.type(name) in op_types.CHOICES:
        return all(is_probability(whole, before) for before in inputs[1:])
    if graph.type(name) == "Sub" and whole.value(inputs[0]) == 1:
        return is_probability(whole, inputs[1])
    if graph.type(name) in op_types.BOUNDS:
        numbers = [whole.value(before) for before in inputs]
        others = [before for before, number in zip(inputs, numbers) if number is None]
        are_bounds = all(number is None or 0 <= number <= 1 for number in numbers)
        return are_bounds and len(others) == 1 and is_probability(whole, others[0])
    source = source_of_elements(whole.graph, whole.graph.inputs(name)[0]).node if _is_copy(whole, name) else name
    is_answer = whole.graph.type(source) in (*COMPARISONS, "LogicalAnd", "LogicalOr", "LogicalNot")
    if whole.graph.type(source) == "OneHot":
        numbers = [whole.value(tensor.node) for tensor in whole.graph.inputs(source)[2:4]]
        return all(number is not None and 0 <= number <= 1 for number in numbers)
    return is_answer or whole.graph.type(source) in ("Sigmoid", "Softmax", "RandomUniform") or is_share(whole, source)


def is_share(whole: WholeGraph, name: str) -> bool:
    """Returns whether a node holds data y that the program takes for shares: 1 - y is there, too, and multiplies."""
    graph, seen, todo = whole.graph, {name}, [name]
    if name not in whole.data or not _is_fed(whole, name):
        return False
    while todo:
        for user in [use.node for use in graph.users(todo.pop())]:
            if _is_copy(whole, user) and user not in seen:
                seen.add(user)
                todo.append(user)
            elif graph.type(user) == "Sub" and whole.value(graph.inputs(user)[0].node) == 1:
                return any(graph.type(use.node) == "Mul" for use in graph.users(user))
    return False


def _is_copy(whole: WholeGraph, name: str) -> bool:
    return whole.graph.type(name) in ("Identity", "Cast", "Reshape", "Squeeze", "ExpandDims")


def _is_fed(whole: WholeGraph, name: str) -> bool:
    """Whether a node passes data on unchanged."""
    graph = whole.graph
    while graph.type(name) in op_types.PARTS or _is_copy(whole, name):
        name = graph.inputs(name)[op_types.divided_input(graph.type(name))].node
    return op_types.is_source(graph.type(name))
