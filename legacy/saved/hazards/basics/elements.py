"""Elements of a tensor on their way through ops that hand them on, perhaps in another shape, or choose some of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Optional

from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from workloads.lifted.graph import Graph, TensorId

#: Ops that hand the elements of their first input on.
_PASSES = ("Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "StopGradient", "Transpose")
_PARTS = ("StridedSlice", "Slice", "Split", "SplitV", "Unpack")


class Choice(NamedTuple):
    """A choice of one number of each row.

    Attributes:
      values: the tensor that has the numbers.
      code: the OneHot that says which.
    """

    values: TensorId
    code: str


def choice_by_code(graph: Graph, total: str) -> Optional[Choice]:
    """Returns the choice that a sum over a product with one-hot codes makes; None for any other node."""
    product = graph.origin(graph.inputs(total)[0]).node if graph.type(total) == "Sum" else ""
    if not product or graph.type(product) != "Mul":
        return None
    factors = [graph.origin(tensor) for tensor in graph.inputs(product)]
    codes = [source_of_elements(graph, factor).node for factor in factors]
    is_code = [graph.type(code) == "OneHot" for code in codes]
    return Choice(factors[is_code.index(False)], codes[is_code.index(True)]) if is_code.count(True) == 1 else None


def source_of_elements(graph: Graph, tensor: TensorId) -> TensorId:
    """Returns the tensor whose elements a tensor holds, perhaps in another shape."""
    while hands_elements_on(graph, tensor.node) and graph.inputs(tensor.node):
        tensor = graph.inputs(tensor.node)[0]
    return tensor


def source_of_values(graph: Graph, tensor: TensorId) -> TensorId:
    """Returns the tensor whose values a tensor holds, each perhaps several times.

    A distribution multiplies its parameters by ones of the shape of what it gives the probability of.
    """
    while True:
        tensor = source_of_elements(graph, tensor)
        factors = graph.inputs(tensor.node) if graph.type(tensor.node) == "Mul" else []
        others = [factor for factor in factors if not _is_ones(graph, factor.node)]
        if len(others) != 1:
            return tensor
        tensor = others[0]


def _is_ones(graph: Graph, name: str) -> bool:
    """Returns whether all elements of a node are one, as of `tf.ones` or `tf.ones_like`."""
    while graph.type(name) in _PASSES:
        name = graph.inputs(name)[0].node
    if graph.type(name) == "Fill":
        name = graph.inputs(name)[1].node
    numbers = constant_array(graph, name)
    return graph.type(name) == "OnesLike" or (numbers is not None and bool((numbers == 1).all()))


def hands_elements_on(graph: Graph, name: str) -> bool:
    """Returns whether a node has the elements of its first input: `x[:, None]` is a slice of all, with a new axis."""
    if graph.type(name) != "StridedSlice":
        return graph.type(name) in _PASSES
    masks = {word: graph.nodes[name].attr[f"{word}_mask"].i for word in ("begin", "end", "ellipsis", "new_axis")}
    numbers = constant_array(graph, graph.inputs(name)[1].node)
    if numbers is None or not masks["new_axis"] or graph.nodes[name].attr["shrink_axis_mask"].i:
        return False
    whole = masks["new_axis"] | masks["ellipsis"] | (masks["begin"] & masks["end"])
    steps = constant_array(graph, graph.inputs(name)[3].node)
    return whole == (1 << numbers.size) - 1 and steps is not None and bool((steps == 1).all())


def key_of_elements(graph: Graph, tensor: TensorId) -> Hashable:
    """Returns a key of elements, which is equal for two slices of one tensor that take the same part of it."""
    tensor = source_of_elements(graph, tensor)
    kind = graph.type(tensor.node)
    if kind not in _PARTS:
        return tensor
    place = op_types.divided_input(kind)
    others = [source for position, source in enumerate(graph.inputs(tensor.node)) if position != place]
    numbers = [constant_array(graph, source.node) for source in others]
    if any(number is None for number in numbers):
        return tensor
    taken = tuple(tuple(number.ravel().tolist()) for number in numbers if number is not None)
    masks = tuple(graph.nodes[tensor.node].attr[f"{name}_mask"].i for name in ("begin", "end", "shrink_axis"))
    return kind, tensor.output, taken, masks, key_of_elements(graph, graph.inputs(tensor.node)[place])
