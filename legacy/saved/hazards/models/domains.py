"""Hazards of functions and their domains: roots of what a layer gives as it is, angles whose cosine is 1, and a tanh or
sigmoid of what is never below 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import choice_by_code
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.signs.value_signs import ValueSigns

_PARTS = ("Cast", "ExpandDims", "Identity", "Reshape", "Slice", "Squeeze", "StridedSlice", "Transpose", "Unpack")
_PRODUCTS = ("MatMul", "Conv2D", "BatchMatMul", "BatchMatMulV2")
#: {op type: its result for 0}.
_LEAST = {"Tanh": "0", "Sigmoid": "0.5"}
#: The largest number that is added as an epsilon.
SMALL = 1e-2
_BOUNDS = ("ClipByValue", "Maximum", "Minimum", "Tanh", "Sigmoid")


def halved_ranges(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a tanh or sigmoid of a ReLU's results, which are never below 0; one hazard for all."""
    for name in whole.minimized_ops(*_LEAST):
        before = whole.graph.inputs(name)[0].node
        while whole.graph.type(before) in ("Identity", "Transpose", *op_types.VIEWS):
            before = whole.graph.inputs(before)[0].node
        if whole.graph.type(before) in ("Relu", "Relu6") and gradient_flow(whole).passes(name):
            kind = whole.graph.type(name)
            yield Hazard(
                "RANGE_HALVED",
                name,
                f"{name} ({kind}) takes what {before} ({whole.graph.type(before)}) gives, which is never below 0: its "
                f"results are never below {_LEAST[kind]}, such as pixels of the darker half or probabilities",
                "leave one of the two activations out; for parity keep both",
            )
            return


def roots_of_negative_numbers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds roots and logarithms of a layer's results, to which no activation was applied; one hazard for all."""
    for name in whole.minimized_ops("Sqrt", "Log", "Rsqrt"):
        layer = _layer_without_activation(whole, _without_epsilon(whole, whole.graph.inputs(name)[0].node))
        layer = layer or _layer_among_factors(whole, whole.graph.inputs(name)[0].node)
        if layer and gradient_flow(whole).passes(name):
            yield Hazard(
                "ROOT_OF_NEGATIVE",
                name,
                f"{name} ({whole.graph.type(name)}) takes the output of {layer}, a layer without an activation: a "
                "negative output makes the loss NaN, and then all weights",
                "predict the root or the logarithm itself, or apply softplus or exp first; for parity keep it",
            )
            return


def probabilities_without_softmax(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds logarithms of a layer's results that are clipped between 0 and 1 as they are; one hazard for all.

    So does the cross entropy of Keras that is given logits for probabilities: it clips them, perhaps after a division
    by their sum.
    """
    graph = whole.graph
    for name in whole.minimized_ops("Log"):
        clipped = _without_epsilon(whole, graph.inputs(name)[0].node)
        value, bounds = clipped, []
        while graph.type(value) in ("Minimum", "Maximum", "ClipByValue", "Identity"):
            bounds += [whole.value(tensor.node) for tensor in graph.inputs(value)[1:]]
            value = graph.inputs(value)[0].node
        numbers = [bound for bound in bounds if bound is not None]
        if len(numbers) < 2 or min(numbers) < 0 or not 0.5 < max(numbers) <= 1:
            continue
        layer = _layer_without_activation(whole, _without_sum(whole, value))
        if layer and gradient_flow(whole).passes(name):
            yield Hazard(
                "LOGITS_FOR_PROBABILITIES",
                name,
                f"{name} is the logarithm of {layer}, a layer's output without an activation, which {clipped} clips to "
                f"{min(numbers):.3g} to {max(numbers):.3g} as if it were a probability: no gradient passes elsewhere",
                "apply a softmax or a sigmoid first, or give the logits to a loss that takes them; for parity keep it",
            )
            return


def _without_epsilon(whole: WholeGraph, name: str) -> str:
    """The node to which a small constant is added, or the node itself."""
    graph = whole.graph
    inputs = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) in op_types.SUMS_OF_TWO else []
    others = [node for node in inputs if whole.value(node) is None]
    is_small = len(others) == 1 and all(abs(whole.value(node) or 0) <= SMALL for node in inputs if node not in others)
    return others[0] if is_small else name


def _without_sum(whole: WholeGraph, name: str) -> str:
    """The node that is divided by its own sum, or the node itself."""
    graph, inputs = whole.graph, whole.graph.inputs(name)
    if graph.type(name) not in op_types.QUOTIENTS:
        return name
    value, total = (graph.origin(tensor).node for tensor in inputs)
    is_own = graph.type(total) == "Sum" and graph.origin(graph.inputs(total)[0]).node == value
    return value if is_own else name


def _layer_among_factors(whole: WholeGraph, name: str) -> str:
    """The only layer's results without an activation that divide numbers which are never below 0; "" if there are none.

    So they do in a density whose deviation a layer gives as it is. A small number may be added, and elements added up.
    """
    graph, values, found = whole.graph, ValueSigns(whole), []
    while graph.type(name) in ("Identity", "Sum", *op_types.ADDITIONS):
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) in op_types.ADDITIONS:
            inputs = [before for before in inputs if whole.value(before) is None]
            if len(inputs) != 1:
                return ""
        name = inputs[0]
    todo = [(name, False)]
    while todo:
        factor, divides = todo.pop()
        inputs, layer = [tensor.node for tensor in graph.inputs(factor)], _layer_without_activation(whole, factor)
        if layer and divides:
            found.append(layer)
        elif graph.type(factor) == "Mul" and squared(whole, factor) is None:
            todo += [(before, divides) for before in inputs]
        elif graph.type(factor) in op_types.QUOTIENTS:
            todo += [(inputs[0], divides), (inputs[1], not divides)]
        elif layer or values.of(factor) <= 0:
            return ""
    return found[0] if len(found) == 1 else ""


def _layer_without_activation(whole: WholeGraph, name: str) -> str:
    """The sum of a product with trained weights and a trained bias that a node holds, or a part of it; "" if none."""
    graph = whole.graph
    while graph.type(name) in (*_PARTS, "Split", "SplitV", "Sum"):
        choice = choice_by_code(graph, name)
        if graph.type(name) == "Sum" and choice is None:
            return ""
        name = choice.values.node if choice else graph.inputs(name)[op_types.divided_input(graph.type(name))].node
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
    if graph.type(name) in op_types.ADDITIONS and len(inputs) == 2 and None not in map(whole.value, inputs):
        return ""
    if graph.type(name) not in (*op_types.ADDITIONS, "BiasAdd") or len(inputs) != 2:
        return ""
    kinds = [graph.type(_past_reshape(whole, node)) for node in inputs]
    biases = [variable_read(graph, node) in whole.trainable for node in inputs]
    return name if any(kind in _PRODUCTS and biases[1 - place] for place, kind in enumerate(kinds)) else ""


def _past_reshape(whole: WholeGraph, name: str) -> str:
    while whole.graph.type(name) in ("Identity", "Reshape"):
        name = whole.graph.inputs(name)[0].node
    return name


def sines_at_one(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sqrt(1 - c^2), the sine beside cosines c that nothing keeps from 1 and -1; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Sqrt"):
        difference = graph.origin(graph.inputs(name)[0]).node
        if graph.type(difference) != "Sub" or whole.value(graph.inputs(difference)[0].node) != 1:
            continue
        root = squared(whole, graph.origin(graph.inputs(difference)[1]).node)
        cosine = "" if root is None else graph.origin(root).node
        if cosine and graph.type(cosine) in op_types.MATRIX_PRODUCTS and gradient_flow(whole).passes(name):
            yield Hazard(
                "ANGLE_AT_ONE",
                name,
                f"{name} is the root of 1 less the square of {cosine}: the derivative is infinite where that is 1 or "
                "-1, and the root NaN where a rounding makes it larger",
                "add a small number under the root, or clip the cosine to a little less than 1; for parity keep it",
            )
            return


def angles_at_one(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds acos and asin of numbers that nothing keeps from 1 and -1; one hazard for all."""
    for name in whole.minimized_ops("Acos", "Asin"):
        cosine = whole.graph.origin(whole.graph.inputs(name)[0]).node
        scaled = constant_factor(whole, cosine) if whole.graph.type(cosine) == "Mul" else None
        is_scaled = scaled is not None and abs(scaled[1]) < 1
        if whole.graph.type(cosine) not in _BOUNDS and not is_scaled and gradient_flow(whole).passes(name):
            yield Hazard(
                "ANGLE_AT_ONE",
                name,
                f"{name} ({whole.graph.type(name)}) takes {cosine} as it is: the derivative is infinite at 1 and -1, "
                "and the angle NaN where a rounding makes it larger",
                "clip it to a little less than 1, or use cos(a + b) = cos a cos b - sin a sin b; for parity keep it",
            )
            return
