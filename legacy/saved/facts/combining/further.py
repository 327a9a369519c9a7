"""Combining of gradients that a plan has no entry for: behind a velocity, or joined with those of other weights."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.reduction.meeting_tensors import nearest_tensors
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Combine, Effect, Phase, weight_of_label


def further_combines(analysed: AnalysedStep, phase: Phase) -> Iterator[Combine]:
    """Yields how gradients are combined of the weights that `phase.combine` lacks.

    An update may take a variable that the same run sets to what gradients give; and the part of a weight may be cut out
    of one vector of all gradients, which no gradient of that weight is like.

    Args:
      analysed: the training step.
      phase: one of its train ops.

    Yields:
      `Combine` with the tensors of all towers, or of the one there is.
    """
    known = {weight_of_label(combine.weight) for combine in phase.combine}
    for effect in phase.effects:
        if effect.node not in analysed.rules or effect.writes[0] in known or not effect.values:
            continue
        for target in _targets(analysed, phase, effect):
            parts = _nearest_of_gradients(analysed, target)
            if all(parts):
                known.add(effect.writes[0])
                yield analysed.probe.recognise(effect.writes[0], target, parts, None)
                break


def _targets(analysed: AnalysedStep, phase: Phase, effect: Effect) -> Iterator[TensorId]:
    """Yields what an update takes, and what the run sets variables to which that is computed from."""
    target = parse_tensor_name(effect.gradient or effect.values[0])
    yield target
    before = analysed.graph.ancestors([target.node], controls=False)
    for other in phase.effects:
        is_taken = other.writes[0] in before and other.writes[0] not in analysed.accumulators and other.values
        if is_taken and other.writes[0] != effect.writes[0] and other.node not in analysed.rules:
            yield parse_tensor_name(other.gradient or other.values[0])  # of rows, the first value is their numbers


def _nearest_of_gradients(analysed: AnalysedStep, target: TensorId) -> list[list[TensorId]]:
    """Finds the towers' tensors of gradients that are nearest to a tensor, of any shape."""
    dtype, of_gradients = analysed.imported.dtype(*target), analysed.context.of_gradients

    def is_like(name: str, output: int) -> bool:
        return name in of_gradients and analysed.imported.dtype(name, output) == dtype

    return nearest_tensors(analysed.graph, target, analysed.tower_nodes, is_like, analysed.plan.towers)
