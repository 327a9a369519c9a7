"""Hazard of the length of a short vector of ReLU outputs, whose derivative is infinite where all of them are 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId

_COPIES = ("Identity", "Squeeze", "Reshape", "ExpandDims")
_RECTIFIERS = ("Relu", "Relu6")
#: Vectors of more elements than these, as the features of a layer, are hardly ever 0 as a whole.
_MOST_ELEMENTS = 16


def lengths_of_activations(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds roots of sums of squares of a few ReLU outputs, to which nothing is added; one hazard for all."""
    graph = found.cut.graph
    for name in [name for name in whole.minimized_ops("Sqrt") if name in graph.nodes]:
        total = graph.origin(graph.inputs(name)[0]).node
        while graph.type(total) in _COPIES:
            total = graph.inputs(total)[0].node
        rectified = _rectified(whole, graph.inputs(total)[0]) if graph.type(total) == "Sum" else ""
        count = _added_up(found, total) if rectified else 0
        if 0 < count <= _MOST_ELEMENTS and gradient_flow(whole).passes(name):
            yield Hazard(
                "ROOT_OF_ZERO",
                name,
                f"{name} is the length of {count} outputs of {rectified} ({graph.type(rectified)}): where all of them "
                "are 0, the derivative is infinite times 0, so that gradients can become NaN",
                "add a small number under the root; for parity keep it",
            )
            return


def _rectified(whole: WholeGraph, squares: TensorId) -> str:
    """The ReLU of what weights compute whose outputs are squared; "" of other squares."""
    graph = whole.graph
    root = squared(whole, graph.origin(squares).node)
    rectified = "" if root is None else graph.origin(root).node
    is_of_weights = rectified in made_by_weights(whole)
    return rectified if is_of_weights and graph.type(rectified) in _RECTIFIERS else ""


def _added_up(found: Analysis, total: str) -> int:
    """The number of elements that each sum adds up, along some of several dimensions; 0 if it is not known."""
    graph, imported = found.cut.graph, found.context.imported
    axes, shape = imported.constant(*graph.inputs(total)[1]), imported.shape(*graph.inputs(total)[0])
    along = set() if axes is None or shape is None else {int(axis) % len(shape) for axis in np.ravel(axes)}
    if not along or shape is None or len(along) == len(shape):
        return 0
    return int(np.prod([shape[axis] or 0 for axis in along]))
