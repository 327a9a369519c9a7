"""Hazards of critics: interpolation by pixel, norms of parts of a gradient, normalization."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import gradient_starts
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from workloads.lifted.tensors.gradient_names import forward_name, gradient_scope, is_gradient_op

#: Ops of layers that read features.
_LAYERS = ("Conv1D", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "Conv2DBackpropInput", *op_types.MATRIX_PRODUCTS)


def interpolated_by_pixel(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds gradient penalties between real and generated examples with a random factor for each element; one."""
    graph, imported = found.cut.graph, found.context.imported
    if not any(is_gradient_op(name) for name in whole.minimized):
        return  # no loss contains derivatives
    for name in [name for name in whole.minimized_ops(*op_types.ADDITIONS) if name in graph.nodes]:
        for product in [tensor.node for tensor in graph.inputs(name) if graph.type(tensor.node) == "Mul"]:
            for factor, other in zip(graph.inputs(product), reversed(graph.inputs(product))):
                shape = imported.shape(*factor) or ()
                of_all = imported.shape(*other) or ()
                if set(shape) <= {1} and of_all and of_all[0] != 1 and _is_drawn_once(whole, factor.node, other.node):
                    yield Hazard(
                        "NOISE_OF_ONE_EXAMPLE",
                        product,
                        f"{name} interpolates between two batches by one random factor {factor.node} of shape "
                        f"{list(shape)}: all examples get the same factor",
                        "draw one factor per example, of shape [batch, 1, ...]; for parity keep it",
                    )
                    return
                is_each = len(shape) > 1 and shape == of_all and set(shape[1:]) != {1}
                if is_each and _is_uniform(whole, factor.node) and other.node in whole.data:
                    yield Hazard(
                        "INTERPOLATED_BY_ELEMENT",
                        product,
                        f"{name} interpolates between two batches by a random factor {factor.node} of shape "
                        f"{list(shape)}, one per element: the points are not on a line between two examples",
                        "draw one factor per example, of shape [batch, 1, ...]; for parity keep them all",
                    )
                    return


def _is_drawn_once(whole: WholeGraph, factor: str, other: str) -> bool:
    """Whether a factor is one uniform random number, and what it multiplies is data."""
    return _is_uniform(whole, factor) and other in whole.data


def _is_uniform(whole: WholeGraph, name: str) -> bool:
    """Whether a node holds uniform random numbers, perhaps scaled."""
    while whole.graph.type(name) in (*op_types.SUMS_OF_TWO, "Mul", "Identity"):
        drawn = [t.node for t in whole.graph.inputs(name) if whole.value(t.node) is None]
        if len(drawn) != 1:
            return _is_scaled_uniform(whole, name)
        name = drawn[0]
    return whole.graph.type(name) == "RandomUniform"


def _is_scaled_uniform(whole: WholeGraph, name: str) -> bool:
    """Whether a node is min + (max - min) * uniform, as `tf.random_uniform` computes it."""
    before = whole.graph.ancestors([name], controls=False)
    kinds = {whole.graph.type(node) for node in before}
    return (
        kinds <= {"Const", "RandomUniform", "Shape", "Sub", "Identity", *op_types.SUMS_OF_TWO, "Mul"}
        and "RandomUniform" in kinds
    )


def norms_of_parts(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds gradient penalties whose norm leaves dimensions of an example out; one hazard for all."""
    graph, imported = found.cut.graph, found.context.imported
    for name in whole.minimized_ops("Sqrt"):
        if is_gradient_op(name) or name not in graph.nodes:
            continue
        inner = graph.origin(graph.inputs(name)[0])
        terms = graph.inputs(inner.node) if graph.type(inner.node) in op_types.SUMS_OF_TWO else [inner]
        totals = [graph.origin(term).node for term in terms if graph.type(graph.origin(term).node) == "Sum"]
        for total in totals:
            squares, axes = graph.origin(graph.inputs(total)[0]), imported.constant(*graph.inputs(total)[1])
            derivative = squared(whole, squares.node)
            shape = imported.shape(*derivative) if derivative is not None and is_gradient_op(derivative.node) else None
            if axes is None or not shape:
                continue
            summed = {int(axis) % len(shape) for axis in np.ravel(axes)}
            if 0 in summed and len(shape) > 1 and shape[0] != 1 and _is_compared(whole, name):
                yield Hazard(
                    "PENALTY_OF_PARTS",
                    name,
                    f"{name} is one norm of all examples' derivatives, of shape {list(shape)}, and not one of each "
                    "example's",
                    "sum over all dimensions but the first; for parity keep it",
                )
                return
            left = [axis for axis in range(1, len(shape)) if axis not in summed and shape[axis] != 1]
            if 0 not in summed and left and _is_compared(whole, name):
                if derivative is not None and _has_values_along(found, derivative.node, left, shape):
                    continue
                yield Hazard(
                    "PENALTY_OF_PARTS",
                    name,
                    f"{name} is a norm of derivatives of shape {list(shape)} along dimension "
                    f"{', '.join(map(str, sorted(summed)))} alone: not one of an example's whole gradient, but "
                    f"one for each element of dimension {', '.join(map(str, left))}",
                    "sum over all dimensions but the first; for parity keep it",
                )
                return


def _has_values_along(found: Analysis, derivative: str, axes: list[int], shape: tuple[int | None, ...]) -> bool:
    """Whether what is differentiated has a value for each element of some dimensions, as a score of each point.

    Args:
      found: the analysis.
      derivative: a node of the gradient graph.
      axes: dimensions.
      shape: of the derivative.
    """
    starts = gradient_starts(found.cut.graph, set(found.cut.graph.nodes))
    values = [
        value
        for root, targets in starts.items()
        if derivative.startswith(gradient_scope(root) or root)
        for value in targets
    ]
    shapes = [found.context.imported.shape(value) or () for value in values]
    return bool(shapes) and all(len(own) > axis and own[axis] == shape[axis] for own in shapes for axis in axes)


def _is_compared(whole: WholeGraph, name: str) -> bool:
    """Whether a number is subtracted from a node, as from the norm in a gradient penalty."""
    users = [use.node for use in whole.graph.users(name) if not is_gradient_op(use.node)]
    return any(
        whole.graph.type(user) == "Sub" and whole.value(whole.graph.inputs(user)[1].node) is not None for user in users
    )


def penalties_of_normalized_batches(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds gradient penalties of a critic that normalizes by the batch's moments; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Sqrt"):
        before = graph.ancestors([name], controls=False) if _is_compared(whole, name) else set()
        for derivative in [node for node in before if is_gradient_op(node)]:
            forward = forward_name(derivative, graph.nodes)
            if forward is not None and _is_moment_of_batch(whole, forward):
                yield Hazard(
                    "PENALTY_MIXES_EXAMPLES",
                    name,
                    f"{name} is a norm of derivatives through {forward}, which normalizes over the batch: the "
                    "derivative by each example includes the outputs of others",
                    "use a normalization of single examples, such as layer normalization; for parity keep it",
                )
                return


def _is_moment_of_batch(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a mean over examples that `tf.nn.moments` keeps the dimensions of, or a batch normalization."""
    node = whole.graph.nodes[name]
    if node.op.startswith("FusedBatchNorm"):
        return node.attr["is_training"].b
    axes = constant_array(whole.graph, whole.graph.inputs(name)[1].node) if node.op == "Mean" else None
    is_moment = axes is not None and 0 in axes.ravel().tolist() and node.attr["keep_dims"].b
    return is_moment and name in whole.data and _is_read_by_layer(whole, name)


def _is_read_by_layer(whole: WholeGraph, moment: str) -> bool:
    """Whether a layer reads what a moment of the batch changes, other than one more feature beside the examples' own.

    A feature of the whole batch, as its deviation that a critic is given against a generator of equal examples, is
    joined to the others, and is meant to depend on all examples.
    """
    graph, todo, seen = whole.graph, [moment], {moment}
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if use.node not in seen]:
            seen.add(user)
            if graph.type(user) in _LAYERS:
                return True
            if user in whole.minimized and not is_gradient_op(user) and not _leaves_examples(whole, user):
                todo.append(user)
    return False


def _leaves_examples(whole: WholeGraph, name: str) -> bool:
    """Whether a node joins features, or reduces along the examples."""
    kind, inputs = whole.graph.type(name), whole.graph.inputs(name)
    if kind in op_types.REDUCTIONS:
        axes = constant_array(whole.graph, inputs[1].node)
        return axes is None or 0 in axes.ravel().tolist()
    return kind in op_types.JOINS
