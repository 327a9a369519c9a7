"""Hazard of the logarithm of a sum of exponentials that runs along the examples, as of a mixture's components."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op


def likelihoods_over_examples(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds logsumexp(x, 0) of rows of examples with a fixed number of columns; one hazard for all.

    A matrix of pairs of examples has as many columns as rows.
    """
    graph, imported = found.cut.graph, found.context.imported
    for name in [name for name in whole.minimized_ops("Log") if name in graph.nodes and not is_gradient_op(name)]:
        total = graph.origin(graph.inputs(name)[0]).node
        inner = graph.origin(graph.inputs(total)[0]) if graph.type(total) == "Sum" else None
        if inner is None or graph.type(inner.node) != "Exp" or inner.node not in whole.data:
            continue
        axes, shape = imported.constant(*graph.inputs(total)[1]), imported.shape(*inner)
        if axes is None or np.ravel(axes).tolist() != [0] or shape is None or len(shape) != 2:
            continue
        of_examples = shape[0] in (None, found.plan.batch) and shape[1] not in (None, 1, shape[0])
        if of_examples and graph.ancestors([inner.node], controls=False) & whole.trainable:
            yield Hazard(
                "SUM_OVER_EXAMPLES",
                name,
                f"{name} is a log-sum-exp along the examples of a tower, for each of {shape[1]} columns: each "
                "example's likelihood depends on the others",
                "sum over the columns, axis 1; for parity keep it",
            )
            return
