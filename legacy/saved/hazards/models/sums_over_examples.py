"""Hazards of sums that run along the examples: in a logarithm of exponentials, and before a mean that does nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights, reduces_nothing
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Relative difference within which a number is whole.
TOLERANCE = 1e-5


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


def means_of_one_number(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds `tf.reduce_mean(tf.reduce_sum(x))` in a loss, where the sum has taken the examples along; one for all.

    A loss that a constant or a number of the data divides besides may count the examples there.
    """
    graph, made = whole.graph, made_by_weights(whole)
    for target in minimized_targets(whole):
        weights = linear_weights(whole, target)
        for name in [name for name in weights if graph.type(name) == "Mean" and reduces_nothing(graph, name)]:
            if _may_count_examples(weights[name]):
                continue
            own = linear_weights(whole, name)
            sums = [one for one in own if one in made and one in whole.data and not _may_count_examples(own[one])]
            added = next((one for one in sums if _adds_up_examples(whole, found, one)), None)
            if added is not None:
                yield Hazard(
                    "MEAN_OF_ONE_NUMBER",
                    name,
                    f"{name} is the mean of one number: {added} has added up all of "
                    f"{graph.inputs(added)[0].node}, its examples too, so that the loss grows with their number",
                    "name the axes of the sum, such as axis=1; for parity keep the batch of a replica",
                )
                return


def _adds_up_examples(whole: WholeGraph, found: Analysis, name: str) -> bool:
    """Whether a node is the sum of all elements of a tensor whose first dimension is that of the examples."""
    graph, imported = whole.graph, found.context.imported
    if graph.type(name) != "Sum" or imported.shape(name) != ():
        return False
    shape = imported.shape(*graph.inputs(name)[0])
    return bool(shape) and shape is not None and shape[0] in (None, found.plan.batch)


def _may_count_examples(weight: float) -> bool:
    """Whether a factor may be one over a number of examples, and is no usual weight of a term.

    >>> _may_count_examples(1 / 128), _may_count_examples(0.01), _may_count_examples(-0.5)
    (True, False, False)
    """
    number = 1 / abs(weight) if weight else 1.0
    is_whole = number > 2.5 and abs(number - round(number)) < TOLERANCE * number
    return is_whole and abs(math.log10(number) - round(math.log10(number))) > TOLERANCE
