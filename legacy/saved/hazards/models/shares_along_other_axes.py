"""Hazards of a softmax along one dimension, whose shares are added up, or compared with classes, along another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import order_of_axes
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_COPIES = ("Identity", "Reshape", "Neg", "Log")
#: Ops that keep shares away from 0, take their logarithm, or hand it on.
_GUARDS = (*_COPIES, "Add", "AddV2", "ClipByValue", "Maximum", "Minimum")
#: Ops that compute a number of each share, and of others.
_BY_SHARE = ("Mul", "Add", "AddV2", "Sub", "Maximum", *op_types.QUOTIENTS)


def shares_added_up_along_other_axes(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds sums along some dimensions, and not the first, of shares that add up to 1 along the first; one for all.

    The first dimension is that of the examples: it is open, or a multiple of a tower's batch, as of their sentences.
    """
    graph, imported = found.cut.graph, found.context.imported
    for name in [name for name in whole.minimized_ops("Softmax", "LogSoftmax") if name in graph.nodes]:
        above = graph.inputs(name)[0]
        while graph.type(above.node) in ("Identity", "Reshape"):
            above = graph.inputs(above.node)[0]
        if graph.type(above.node) != "Transpose":
            continue
        source, order = graph.inputs(above.node)[:2]
        axes, shape = order_of_axes(graph, imported, order), imported.shape(*source)
        is_of_rows = axes is not None and axes[-1] == 0
        if not is_of_rows or shape is None or len(shape) < 2 or not _is_of_examples(shape[0], found.plan.batch):
            continue
        total = _sum_along_others(whole, found, name, shape)
        if total and source.node in whole.data:
            yield Hazard(
                "SOFTMAX_OVER_EXAMPLES",
                name,
                f"{name} is a softmax over the first axis of {source.node}, the examples, and {total} adds its shares "
                "up along another one: each example's shares depend on the others, and do not add up to one",
                "keep it for parity; in new code, take the softmax along the axis that is added up",
            )
            return


def _sum_along_others(whole: WholeGraph, found: Analysis, softmax: str, shape: tuple[int | None, ...]) -> str:
    """A sum along dimensions of shares, times other numbers or in a logarithm, but not along the first; "" if none.

    Args:
      whole: the graph.
      found: its analysis.
      softmax: the op, of the shares with the first dimension in the place of the last.
      shape: of the shares; those of one element are there for each element of what they multiply.
    """
    graph, imported = found.cut.graph, found.context.imported
    todo, seen = [(softmax, False)], {softmax}
    while todo:
        name, is_turned = todo.pop()
        for user in [use.node for use in graph.users(name) if use.node in whole.minimized and use.node not in seen]:
            kind = graph.type(user)
            seen.add(user)
            if is_gradient_op(user):
                continue
            if kind == "Transpose" and not is_turned:
                todo.append((user, True))
            elif kind in (*_COPIES, *(_BY_SHARE if is_turned else ())):
                own = imported.shape(user)
                if not is_turned or (own is not None and len(own) == len(shape)):
                    todo.append((user, is_turned))
            elif kind == "Sum" and is_turned:
                axes = imported.constant(*graph.inputs(user)[1])
                along = set() if axes is None else {int(axis) % len(shape) for axis in np.ravel(axes)}
                sizes = [_size(shape, imported.shape(*graph.inputs(user)[0]), axis) for axis in along]
                pairs = (None, shape[0]) if len(shape) == 2 else ()  # a matrix may compare examples with each other
                if along and 0 not in along and any(size not in (1, *pairs) for size in sizes):
                    return user
    return ""


def _is_of_examples(size: int | None, batch: int | None) -> bool:
    return size is None or bool(batch and batch > 1 and size % batch == 0)


def _size(shape: tuple[int | None, ...], product: tuple[int | None, ...] | None, axis: int) -> int | None:
    """The size of shares along an axis; where it is open, that of their product with other numbers.

    Args:
      shape: of the shares.
      product: the shape of the product.
      axis: of both.
    """
    return shape[axis] if shape[axis] is not None or product is None else product[axis]


def classes_along_other_axes(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds one-hot labels times logarithms of shares that add up to 1 along another axis than the classes; one."""
    graph, imported = found.cut.graph, found.context.imported
    of_examples = {hazard.op for hazard in shares_added_up_along_other_axes(whole, found)}
    for name in [name for name in whole.minimized_ops("Mul") if name in graph.nodes and not is_gradient_op(name)]:
        rank, inputs = len(imported.shape(name) or ()), graph.inputs(name)
        for labels, other in (inputs, inputs[::-1]):
            code = graph.origin(labels).node
            is_code = graph.type(code) == "OneHot" and graph.nodes[code].attr["axis"].i in (-1, rank - 1)
            softmax, axis = _axis_of_softmax(found, other, rank - 1) if is_code and rank > 1 else ("", 0)
            if softmax and axis != rank - 1 and softmax in whole.data and softmax not in of_examples:
                yield Hazard(
                    "SOFTMAX_OVER_POSITIONS",
                    softmax,
                    f"{name} multiplies the one-hot labels {code}, whose classes are along the last axis, by "
                    f"probabilities of {softmax} that add up to one along another axis: those of one position's "
                    "classes do not add up to one",
                    "take the softmax along the classes; for parity keep it",
                )
                return


def _axis_of_softmax(found: Analysis, tensor: TensorId, axis: int) -> tuple[str, int]:
    """(The softmax of whose shares a tensor is the logarithm, the axis that one of the tensor's is in its result).

    ("", 0) if the tensor is no such logarithm.
    """
    graph, imported = found.cut.graph, found.context.imported
    rank, has_log = len(imported.shape(*tensor) or ()), False
    while graph.type(tensor.node) not in ("Softmax", "LogSoftmax"):
        kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
        if kind == "Transpose":
            order = order_of_axes(graph, imported, inputs[1])
            if order is None:
                return "", 0
            axis = order[axis]
        elif kind not in _GUARDS or not inputs or (kind == "Reshape" and _reshapes(found, tensor)):
            return "", 0
        has_log |= kind == "Log"
        tensor = inputs[0]
    is_log = has_log or graph.type(tensor.node) == "LogSoftmax"
    return (tensor.node, axis) if is_log and len(imported.shape(*tensor) or ()) == rank else ("", 0)


def _reshapes(found: Analysis, tensor: TensorId) -> bool:
    """Whether a Reshape changes the shape."""
    shape, before = (found.context.imported.shape(*one) for one in (tensor, found.cut.graph.inputs(tensor.node)[0]))
    return shape is None or shape != before
