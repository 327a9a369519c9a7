"""Hazard of features that are normalized along the examples, in the place of each example's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op

_SQUARES = ("Square", "Mul")


def norms_over_examples(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds l2_normalize(x, 0) of what weights compute from examples; one hazard for all."""
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
        of_examples = features.node in whole.data and shape[0] in (None, found.plan.batch)
        if np.ravel(axes).tolist() == [0] and of_examples and graph.ancestors([features.node]) & whole.trainable:
            yield Hazard(
                "NORM_OVER_EXAMPLES",
                name,
                f"{name} normalizes {features.node} along its first dimension, a tower's examples: each depends on "
                "which others are in the batch",
                "normalize along the features, axis -1; for parity keep it",
            )
            return
