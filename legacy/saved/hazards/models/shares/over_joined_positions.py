"""Hazard of attention weights that add up to 1 over the positions of all examples, which were joined in one row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op

_COPIES = ("Identity", "Reshape", "Squeeze", "ExpandDims")


def shares_over_joined_positions(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds a softmax of one row whose shares are cut into a row for each example, and added up along it; one for all.

    One example alone, such as a bag of instances or an image, is one row rightly: its shares are not cut up.
    """
    graph, imported = found.cut.graph, found.context.imported
    for name in [name for name in whole.minimized_ops("Softmax") if name in graph.nodes and name in whole.data]:
        shape = imported.shape(name)
        total = _sum_along_rows(whole, found, name, shape[-1]) if shape and _is_row(found, name, shape) else ""
        if total:
            yield Hazard(
                "SOFTMAX_OVER_EXAMPLES",
                name,
                f"{name} is a softmax over the positions of all of a tower's examples, in one row, and {total} adds up "
                "its shares for each example: they do not add up to one there, and depend on the other examples",
                "give the softmax a row for each example; for parity keep it",
            )
            return


def _is_row(found: Analysis, softmax: str, shape: tuple[int | None, ...]) -> bool:
    """Whether a softmax is of one row.

    Up to TensorFlow 1.4, one of a vector is made a matrix of open size before, and a vector again behind the softmax.
    """
    graph, imported = found.cut.graph, found.context.imported
    copies = [imported.shape(use.node) for use in graph.users(softmax) if graph.type(use.node) == "Reshape"]
    return len(shape) == 1 or shape[:-1] == (1,) or (shape[:-1] == (None,) and shape[1:] in copies)


def _sum_along_rows(whole: WholeGraph, found: Analysis, softmax: str, size: int | None) -> str:
    """The op that adds up shares, times other numbers, for each of several rows that they are cut into; "" if none.

    Args:
      whole: the graph.
      found: its analysis.
      softmax: the op, of one row.
      size: number of its shares; None if it is open.
    """
    graph, imported = found.cut.graph, found.context.imported
    todo, seen = [(softmax, False)], {softmax}
    while todo:
        name, is_cut = todo.pop()
        for user in [use.node for use in graph.users(name) if use.node in whole.minimized and use.node not in seen]:
            kind, shape = graph.type(user), imported.shape(user)
            seen.add(user)
            if is_gradient_op(user) or shape is None:
                continue
            if kind in _COPIES:
                todo.append((user, _are_rows(shape, size, found.plan.batch)))
            elif is_cut and kind == "Mul":
                todo.append((user, True))
            elif is_cut and (kind in op_types.MATRIX_PRODUCTS or (kind == "Sum" and _is_within_rows(found, user))):
                return user
    return ""


def _are_rows(shape: tuple[int | None, ...], size: int | None, batch: int | None) -> bool:
    """Whether a shape has a row of several shares for each of several examples."""
    if len(shape) < 2 or 1 in shape[:2]:
        return False
    if batch is None or size is None:
        return shape[0] is None and shape[1] is not None
    return shape[0] == batch


def _is_within_rows(found: Analysis, total: str) -> bool:
    """Whether a sum is along other dimensions than the first."""
    graph, imported = found.cut.graph, found.context.imported
    axes, shape = imported.constant(*graph.inputs(total)[1]), imported.shape(*graph.inputs(total)[0])
    return axes is not None and shape is not None and all(int(axis) % len(shape) != 0 for axis in np.ravel(axes))
