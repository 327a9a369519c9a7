"""Numbers of the data, such as of words, that the towers' summed losses or gradients are divided by."""

from __future__ import annotations

from collections.abc import Iterable

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Phase


def divisor_of_losses(analysed: AnalysedStep, phase: Phase) -> str:
    """Returns the number of the data that divides the sum of the towers' losses, as all towers' words; "" if none."""
    if not phase.shared_loss:
        return ""
    graph = analysed.graph
    losses = {parse_tensor_name(name).node for name in phase.losses}
    ends = differentiated(graph, graph.ancestors([phase.train_op]))
    behind = (graph.ancestors(ends, losses, controls=False) & graph.descendants(losses, controls=False)) - losses
    return _first_divisor(analysed, behind)


def divisor_of_gradients(analysed: AnalysedStep, gradient: str, combined: list[str]) -> str:
    """Returns the number of the data that divides a combined gradient before the update takes it; "" if none does.

    Args:
      analysed: the training step.
      gradient: the tensor that the update takes.
      combined: tensors that hold combined gradients.

    Returns:
      The name of the tensor.
    """
    return _first_divisor(analysed, analysed.between([gradient], combined))


def _first_divisor(analysed: AnalysedStep, names: Iterable[str]) -> str:
    ordered = sorted(names, key=analysed.positions.__getitem__)
    return next(filter(None, (_divisor(analysed, name) for name in ordered)), "")


def _divisor(analysed: AnalysedStep, name: str) -> str:
    """The scalar by which a quotient divides, if towers' data give it and no gradient does, as a norm; else ""."""
    graph = analysed.graph
    if graph.type(name) not in op_types.QUOTIENTS:
        return ""
    divisor: TensorId = graph.inputs(name)[1]
    is_number = analysed.imported.shape(*divisor) == () and divisor.node in analysed.context.data
    return divisor.name if is_number and divisor.node not in analysed.context.of_gradients else ""
