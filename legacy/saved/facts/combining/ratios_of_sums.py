"""Sentences on losses that are a ratio of two sums over each tower's examples, such as an overlap of masks."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.combining.unequal_means import averaged_of_towers, quotients_of_loss
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Phase

#: Ops that add numbers of a tensor up.
_SUMS = ("Sum", "Mean", "L2Loss")
#: Ops by which sums become a numerator or a divisor.
_PASSES = (*op_types.ADDITIONS, "Sub", "Mul", "Neg", *op_types.VIEWS, "Identity", "Maximum")


def ratio_sentences(analysed: AnalysedStep, phase: Phase) -> Iterator[str]:
    """Yields a sentence where a term of each tower's loss is a quotient of sums of the model's results.

    Such a ratio over the whole batch is not the mean of the towers' ratios, also where towers have as many examples.

    Args:
      analysed: the training step.
      phase: one of its train ops.
    """
    graph, averaged = analysed.graph, averaged_of_towers(analysed, phase)
    if not averaged or not phase.losses:
        return
    for quotient in quotients_of_loss(analysed, parse_tensor_name(phase.losses[0]).node):
        if graph.type(quotient) not in op_types.QUOTIENTS:
            continue
        above, below = graph.inputs(quotient)
        if _is_sum_of_results(analysed, above) and _is_sum_of_results(analysed, below):
            yield (
                f"{phase.train_op}: in each tower, a term of its loss is a ratio of two sums over its examples, such "
                f"as an overlap ({quotient}), and {averaged} are averaged: a mean of ratios, which changes with the "
                "number of towers"
            )
            return


def _is_sum_of_results(analysed: AnalysedStep, number: TensorId) -> bool:
    """Returns whether one tower adds a number up from what its model makes of data, and does not hold it constant."""
    graph, todo, seen = analysed.graph, [number.node], set()
    weights = {variable.name for variable in analysed.plan.variables if variable.role == "weight"}
    if analysed.context.towers.tower_of(number.node) is None:
        return False
    while todo:
        name = todo.pop()
        if name in seen or graph.type(name) == "StopGradient":
            continue
        seen.add(name)
        if graph.type(name) in _SUMS and graph.inputs(name)[0].node in analysed.context.data:
            if weights & graph.ancestors([name], controls=False):
                return True
        elif graph.type(name) in _PASSES:
            todo += [tensor.node for tensor in graph.inputs(name)]
    return False
