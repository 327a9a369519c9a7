"""Numbers of the data, such as of words, that losses or gradients are divided or multiplied by."""

from __future__ import annotations

from collections.abc import Iterable

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Combine, Phase
from workloads.lifted.tensors.gradient_names import is_gradient_op


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


def factor_in_towers(analysed: AnalysedStep, combine: Combine) -> str:
    """Finds numbers of the data by which towers multiply or divide a gradient before it is combined, as their words.

    Args:
      analysed: the training step.
      combine: how it combines the gradients of one variable.

    Returns:
      The end of a text, with the first tower's number; "" unless each part has such a number.
    """
    found = [_factor(analysed, parse_tensor_name(name).node) for tower in combine.parts for name in tower]
    is_each = bool(found) and all(found)
    return f", of gradients that each tower {found[0]}, a number that the data give" if is_each else ""


def _factor(analysed: AnalysedStep, name: str) -> str:
    """The words for the number of the data by which the end of a gradient is multiplied or divided; "" if by none."""
    graph = analysed.graph
    while name in analysed.context.of_gradients and not is_gradient_op(name):
        inputs = graph.inputs(name)
        own = [tensor for tensor in inputs if tensor.node in analysed.context.of_gradients]
        if len(own) != 1:
            return ""
        for tensor in inputs:
            if graph.type(name) in op_types.SCALINGS and tensor not in own and _is_number_of_data(analysed, tensor):
                return f"{'multiplies' if graph.type(name) == 'Mul' else 'divides'} by {tensor.name}"
        name = own[0].node
    return ""


def _is_number_of_data(analysed: AnalysedStep, tensor: TensorId) -> bool:
    """Whether a tensor is one number that towers' data give, and no gradient does, as it gives a norm."""
    shape, context = analysed.imported.shape(*tensor), analysed.context
    is_number = shape is not None and all(size == 1 for size in shape)
    return is_number and tensor.node in context.data and tensor.node not in context.of_gradients


def _first_divisor(analysed: AnalysedStep, names: Iterable[str]) -> str:
    ordered = sorted(names, key=analysed.positions.__getitem__)
    return next(filter(None, (_divisor(analysed, name) for name in ordered)), "")


def _divisor(analysed: AnalysedStep, name: str) -> str:
    """The scalar by which a quotient divides, if towers' data give it and no gradient does, as a norm; else ""."""
    graph = analysed.graph
    if graph.type(name) not in op_types.QUOTIENTS:
        return ""
    divisor: TensorId = graph.inputs(name)[1]
    return divisor.name if _is_number_of_data(analysed, divisor) else ""
