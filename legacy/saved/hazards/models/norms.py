"""Hazards of normalization by hand: along the examples, in the place of each example's own, or by what can be 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read, variable_sizes
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_SQUARES = ("Square", "Mul")
_RECTIFIERS = ("Relu", "Relu6")
_COPIES = ("Identity", "Reshape", "ExpandDims", "Squeeze", "BroadcastTo", "Tile", "StopGradient")


def norms_over_examples(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds l2_normalize(x, 0), or without an axis, of what weights compute from examples; one hazard for all.

    Derivatives, as of an adversarial direction, may have one length for all examples.
    """
    graph, imported = found.cut.graph, found.context.imported
    for name in graph.nodes:
        if graph.type(name) != "Rsqrt" or name not in whole.minimized or is_gradient_op(name):
            continue
        bounded = graph.origin(graph.inputs(name)[0]).node
        total = graph.origin(graph.inputs(bounded)[0]).node if graph.type(bounded) == "Maximum" else bounded
        squares = graph.origin(graph.inputs(total)[0]).node if graph.type(total) == "Sum" else ""
        if not squares or graph.type(squares) not in _SQUARES:
            continue
        features = graph.origin(graph.inputs(squares)[0])
        axes, shape = imported.constant(*graph.inputs(total)[1]), imported.shape(*features)
        scaled = [use.node for use in graph.users(name) if graph.type(use.node) == "Mul"]
        is_norm = any(features in map(graph.origin, graph.inputs(user)) for user in scaled)
        if axes is None or not shape or len(shape) != 2 or not is_norm:
            continue
        if shape[0] == shape[1] and graph.type(features.node) == "Transpose":
            continue  # its first dimension may be the features
        if _are_added_over_rows(found, scaled):
            continue  # correlations of features
        of_examples = features.node in whole.data and shape[0] in (None, found.plan.batch)
        along = np.ravel(axes).tolist()
        is_whole = sorted(along) == [0, 1] and not is_gradient_op(features.node)
        if (along == [0] or is_whole) and of_examples and graph.ancestors([features.node]) & whole.trainable:
            way = "as a whole, with all of" if is_whole else "along its first dimension,"
            yield Hazard(
                "NORM_OVER_EXAMPLES",
                name,
                f"{name} normalizes {features.node} {way} a tower's examples: each depends on which others are in the "
                "batch",
                "normalize along the features, axis -1; for parity keep it",
            )
            return


def _are_added_over_rows(found: Analysis, products: Sequence[str]) -> bool:
    """Whether products of two normalized tensors are added up along the rows, by an op or in a product of matrices."""
    graph, imported = found.cut.graph, found.context.imported
    uses = [use for name in products for use in graph.users(name) if not is_gradient_op(use.node)]
    for use in uses:
        flag = "transpose_b" if use.position else "transpose_a"
        are_rows = graph.type(use.node) == "MatMul" and graph.nodes[use.node].attr[flag].b != bool(use.position)
        if are_rows and all(tensor.node in found.context.data for tensor in graph.inputs(use.node)):
            return True
        totals = [total.node for total in graph.users(use.node)] if graph.type(use.node) == "Mul" else []
        for total in [name for name in totals if graph.type(name) == "Sum" and not is_gradient_op(name)]:
            axes = imported.constant(*graph.inputs(total)[1])
            if axes is not None and np.ravel(axes).tolist() == [0]:
                return True
    return False


def roots_without_epsilon(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds what is divided by its deviation or, behind a rectifier, norm, to which nothing is added: layers, and data.

    One hazard for all layers, and one for all data, such as advantages.
    """
    graph, found = whole.graph, set()
    for name in whole.minimized_ops("Mul", *op_types.QUOTIENTS):
        inputs = [graph.origin(tensor) for tensor in graph.inputs(name)]
        is_product = graph.type(name) == "Mul"
        if is_gradient_op(name) or graph.type(name) == "DivNoNan":
            continue
        for place in (0, 1) if is_product else (1,):
            squares = _under_root(whole, inputs[place], "Rsqrt" if is_product else "Sqrt")
            if squares is None:
                continue
            moved = _squared_layer(whole, squares)
            if not moved or not moved <= whole.data:
                continue
            divided = graph.ancestors([inputs[1 - place].node], controls=False)
            is_layer = bool(graph.ancestors(moved, controls=False) & whole.trainable)
            if moved & divided and is_layer not in found:
                found.add(is_layer)
                yield _without_epsilon(name, squares.node, is_layer)


def _without_epsilon(name: str, squares: str, is_layer: bool) -> Hazard:
    advice = "add a small number under the root; for parity keep it"
    if is_layer:
        text = (
            f"{name} divides a layer by the root of {squares}, its own squares, to which nothing is added: where they "
        )
        text += "are 0, as of an example that a rectifier sets to 0, the gradient is NaN"
        return Hazard("NORMALIZED_WITHOUT_EPSILON", name, text, advice)
    text = f"{name} divides data by the root of their variance {squares}, to which nothing is added: where all of them "
    return Hazard("DEVIATION_MAY_BE_ZERO", name, text + "are equal, it is 0 / 0, which is NaN", advice)


def _under_root(whole: WholeGraph, tensor: TensorId, kind: str) -> TensorId | None:
    """The tensor of which a divisor, or a factor, is the root; None where it is none, or something keeps it from 0."""
    graph = whole.graph
    tensor = _behind_copies(graph, tensor)
    if graph.type(tensor.node) == "Pow":
        power = whole.value(graph.inputs(tensor.node)[1].node)
        is_root = power == (0.5 if kind == "Sqrt" else -0.5)
    else:
        is_root = graph.type(tensor.node) == kind
    return _behind_copies(graph, graph.inputs(tensor.node)[0]) if is_root else None


def _squared_layer(whole: WholeGraph, total: TensorId, varies: bool = False) -> set[str]:
    """The nodes whose variance a tensor is, or the sum of whose squares; none of any other tensor.

    Equal elements make a variance 0; a sum of squares is 0 behind a rectifier, and hardly elsewhere.

    Args:
      whole: the graph.
      total: the tensor.
      varies: whether the square of a mean is subtracted from it.
    """
    graph, kind = whole.graph, whole.graph.type(total.node)
    if kind == "Sub":  # the mean of squares less the square of the mean
        return _squared_layer(whole, _behind_copies(graph, graph.inputs(total.node)[0]), varies=True)
    if kind not in op_types.REDUCTIONS:
        return set()
    inner = graph.origin(graph.inputs(total.node)[0]).node
    if graph.type(inner) == "SquaredDifference":
        return {graph.origin(tensor).node for tensor in graph.inputs(inner)[:1]}
    root = squared(whole, inner)
    if root is None:
        return set()
    if graph.type(root.node) == "Sub":  # a layer less its mean
        return {graph.origin(graph.inputs(root.node)[0]).node}
    is_rectified = graph.type(_behind_copies(graph, root).node) in _RECTIFIERS
    return {root.node} if varies or is_rectified else set()


def _behind_copies(graph: Graph, tensor: TensorId) -> TensorId:
    while graph.type(tensor.node) in _COPIES and graph.inputs(tensor.node):
        tensor = graph.inputs(tensor.node)[0]
    return tensor


def norms_of_all_outputs(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds weight normalization by one norm of all of a weight, beside a scale of each output; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Sqrt", "Rsqrt"):
        total = _behind_copies(graph, graph.inputs(name)[0]).node
        if graph.type(total) == "Maximum":
            total = graph.origin(graph.inputs(total)[0]).node
        inner = graph.origin(graph.inputs(total)[0]).node if graph.type(total) == "Sum" else ""
        root = squared(whole, inner) if inner else None
        weight = variable_read(graph, root.node) if root is not None else ""
        if weight not in whole.trainable:
            continue
        shape, axes = variable_sizes(whole.graph, weight), graph.inputs(total)[1].node
        numbers = constant_array(graph, axes)
        is_whole = graph.type(axes) == "Range" or numbers is not None and numbers.size == len(shape)
        if len(shape) < 2 or not is_whole:
            continue
        scale = _scale_of_outputs(whole, name, shape[-1])
        if scale:
            yield Hazard(
                "NORM_OF_ALL_OUTPUTS",
                name,
                f"{weight} is divided by {name}, the norm of all of it, and multiplied by {scale}, a number for each "
                f"of its {shape[-1]} outputs: weight normalization divides each output's weights by their own norm",
                "sum over all axes but the last; for parity keep the one norm",
            )
            return


def _scale_of_outputs(whole: WholeGraph, norm: str, outputs: int) -> str:
    """The trained vector of `outputs` numbers that multiplies what is divided by a norm; "" if there is none."""
    graph, todo, seen = whole.graph, [norm], {norm}
    while todo:
        for use in graph.users(todo.pop()):
            kind = graph.type(use.node)
            if use.node in seen or kind not in ("Mul", *op_types.QUOTIENTS, *_COPIES) or is_gradient_op(use.node):
                continue
            seen.add(use.node)
            todo.append(use.node)
            names = [variable_read(graph, node) for node in _factors(graph, use.node)]
            found = [name for name in names if name in whole.trainable and variable_sizes(graph, name) == [outputs]]
            if found:
                return found[0]
    return ""


def _factors(graph: Graph, name: str) -> list[str]:
    """The nodes that a product or a quotient is made of, those of inner products included."""
    kind = graph.type(name)
    if kind not in op_types.SCALINGS:
        return [name]
    inputs = [_behind_copies(graph, tensor).node for tensor in graph.inputs(name)]
    return [factor for node in inputs for factor in _factors(graph, node)]
