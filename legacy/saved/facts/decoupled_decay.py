"""Sentences on weights that decay in their update: a multiple of a weight beside a gradient, combined or not."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping

from legacy.saved.analysis import updates_by_hand
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Effect, Phase
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import SEVERAL, counted, listed, plural


def decay_sentences(analysed: AnalysedStep, phase: Phase) -> Iterator[str]:
    """Yields a sentence for each number by which weights decay behind the combining of their gradients.

    Such a decay counts once in all towers together, and an optimizer with moments may divide it or leave it alone.

    Args:
      analysed: the training step.
      phase: one of its train ops.
    """
    groups: dict[float, list[str]] = collections.defaultdict(list)
    given = analysed.combined(phase) | analysed.tower_ends
    for effect in [effect for effect in phase.effects if effect.node in analysed.rules and effect.values]:
        ends = [effect.gradient or effect.values[0]]
        for name in sorted(analysed.between(ends, given), key=analysed.positions.__getitem__):
            rate = _decay_rate(analysed, effect.writes[0], name)
            if rate:
                groups[rate].append(effect.writes[0])
                break
    yield from _sentences(phase, groups, "behind the combining of gradients")
    yield from _sentences(phase, _decays_of_towers(analysed, phase), "to each tower's gradient")


def _sentences(phase: Phase, groups: Mapping[float, list[str]], place: str) -> Iterator[str]:
    """Yields the sentence for each {number: weights}, where `place` is what a multiple of the weight is added to."""
    for rate, names in groups.items():
        how_many = counted(len(names), "weight decays", "weights decay")
        which = listed(names, SEVERAL)
        yield (
            f"{phase.train_op}: {how_many} in {plural(len(names), 'its', 'their')} update, where {rate:g} times the "
            f"weight is added {place}: {which}"
        )


def _decays_of_towers(analysed: AnalysedStep, phase: Phase) -> dict[float, list[str]]:
    """The {number: weights} of which every tower adds a multiple to its gradient, and does not get it of a penalty."""
    groups: dict[float, list[str]] = collections.defaultdict(list)
    for entry in phase.combine:
        ends = [_before_stacking(analysed, part) for tower in entry.parts for part in tower[:1]]
        rates = {_decay_rate(analysed, entry.weight, end) for end in ends}
        rate = rates.pop() if len(rates) == 1 else None
        if rate:
            groups[rate].append(entry.weight)
    return groups


def _before_stacking(analysed: AnalysedStep, tensor: str) -> str:
    """The node that gives what a tower hands to the combining, before it is prepared for a concatenation."""
    name = parse_tensor_name(tensor).node
    while analysed.graph.type(name) in ("ExpandDims", "Identity", "Reshape"):
        name = analysed.graph.inputs(name)[0].node
    return name


def _decay_rate(analysed: AnalysedStep, weight: str, name: str) -> float | None:
    """The number c of a sum `u + c * w`, where w is the weight and u is made of gradients; None of any other node.

    The sum that the gradient of a penalty makes is none: that is a term of the loss.
    """
    graph, terms = analysed.graph, analysed.graph.inputs(name)
    of_gradients = analysed.context.of_gradients
    if graph.type(name) not in op_types.ADDITIONS or not any(term.node in of_gradients for term in terms):
        return None
    for term in terms:
        if graph.type(term.node) == "Mul" and not is_gradient_op(term.node):
            factors = graph.inputs(term.node)
            numbers = [updates_by_hand.scalar(analysed.context, factor) for factor in factors]
            has_one = sorted(number is None for number in numbers) == [False, True]
            if has_one and _is_value(analysed, factors[numbers.index(None)], weight):
                return next(number for number in numbers if number is not None)
    return None


def factor_of_weight(analysed: AnalysedStep, effect: Effect) -> float | None:
    """Returns the constant by which an assignment multiplies its variable, as a decay does; None of any other.

    One that subtracts a multiple of the variable leaves the rest.

    Args:
      analysed: the training step.
      effect: the assignment.
    """
    subtracts = effect.op in ("AssignSub", "AssignSubVariableOp")
    if not (subtracts or effect.op in op_types.SETS) or not effect.values:
        return None
    tensor = parse_tensor_name(effect.values[0])
    while analysed.graph.type(tensor.node) == "Identity":
        tensor = analysed.graph.inputs(tensor.node)[0]
    factors = analysed.graph.inputs(tensor.node) if analysed.graph.type(tensor.node) == "Mul" else []
    numbers = [updates_by_hand.scalar(analysed.context, factor) for factor in factors]
    if sorted(number is None for number in numbers) != [False, True]:
        return None
    if not _is_value(analysed, factors[numbers.index(None)], effect.writes[0]):
        return None
    number = next(number for number in numbers if number is not None)
    return 1.0 - number if subtracts else number


def _is_value(analysed: AnalysedStep, tensor: TensorId, variable: str) -> bool:
    """Whether a tensor is a variable's value, read in any way."""
    while analysed.graph.type(tensor.node) in op_types.READS:
        tensor = analysed.graph.inputs(tensor.node)[0]
    return parse_tensor_name(variable).node == tensor.node
