"""One loss of all towers: whether it is a sum of theirs, and whether one tower or each of them differentiates it."""

from __future__ import annotations

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated, differentiations
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Phase
from workloads.lifted.tensors.gradient_names import GRADIENTS

#: Ops whose result is a sum of multiples of their inputs.
LINEAR = {*op_types.LINEAR, "Unpack", "StridedSlice", "Gather", "GatherV2", "Print"}


def is_linear(analysed: AnalysedStep, phase: Phase) -> bool:
    """Returns whether one loss of all towers is a linear function of theirs: each counts a number of times."""
    graph = analysed.graph
    losses = {parse_tensor_name(name).node for row in [phase.losses, *phase.other_losses] for name in row}
    ends = differentiated(graph, graph.ancestors([phase.train_op]))
    of_losses = graph.descendants(losses, controls=False)
    for name in (graph.ancestors(ends, losses, controls=False) & of_losses) - losses:
        own = [tensor.node in of_losses for tensor in graph.inputs(name)]
        is_scaled = graph.type(name) in ("Mul", "RealDiv", "Div") and own in ([True, False], [False, True])
        if graph.type(name) not in LINEAR and not (is_scaled and (own[0] or graph.type(name) == "Mul")):
            return False
    return True


def is_no_sum(analysed: AnalysedStep, phase: Phase) -> bool:
    """Returns whether what is minimized is a function of the towers' losses, each of them a number, that is no sum."""
    if not phase.shared_loss or not phase.losses:
        return False
    is_number = analysed.imported.shape(*parse_tensor_name(phase.losses[0])) == ()
    return is_number and not is_linear(analysed, phase)


def is_differentiated_by_each(graph: Graph, towers: int, phase: Phase) -> bool:
    """Returns whether each tower differentiates the one loss of all of them, so that their gradients are equal.

    Args:
      graph: the subgraph that a step runs.
      towers: how many there are.
      phase: a train op.

    Returns:
      The answer.
    """
    if not phase.shared_loss or not phase.combine or towers < 2:
        return False
    found = [GRADIENTS.search(name) for tower in phase.combine[0].parts for name in tower]
    scopes = {match.string[: match.end()] for match in found if match}
    if len(scopes) != towers:
        return False
    starts = differentiations(graph, graph.ancestors([phase.train_op]))
    targets = {tuple(losses) for losses in starts.values()}
    return len(targets) == 1 and len(starts) == len(scopes)
