"""Sentences on weights that decay in their update: a multiple of a weight beside a gradient, combined or not."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.context import Context
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Effect, Phase
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import SEVERAL, counted, listed, plural

#: {op that changes a variable: the share of the variable that it leaves, given the multiple of it that the op takes}.
_CHANGES: dict[str, Callable[[float], float]] = {
    **dict.fromkeys([*op_types.SETS, "ScatterUpdate"], lambda multiple: multiple),
    **dict.fromkeys([*op_types.ADDS, "ScatterAdd"], lambda multiple: 1.0 + multiple),
    **dict.fromkeys([*op_types.SUBTRACTS, "ScatterSub"], lambda multiple: 1.0 - multiple),
}


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
            if has_one and _is_value(graph, factors[numbers.index(None)], weight):
                return next(number for number in numbers if number is not None)
    return None


def factor_of_weight(context: Context, effect: Effect) -> float | None:
    """Returns the constant by which an op multiplies its variable, or rows of it, as a decay does; None of any other.

    One that adds or subtracts a multiple of the variable leaves the rest.

    Args:
      context: the analysis' context.
      effect: the op.
    """
    graph, kept = context.graph, _CHANGES.get(effect.op.replace("Resource", ""))
    if kept is None or not effect.values:
        return None
    tensor = graph.origin(parse_tensor_name(effect.values[-1]))
    factors = graph.inputs(tensor.node) if graph.type(tensor.node) == "Mul" else []
    numbers = [updates_by_hand.scalar(context, factor) for factor in factors]
    if sorted(number is None for number in numbers) != [False, True]:
        return None
    value, is_of_rows = factors[numbers.index(None)], len(effect.values) > 1
    if is_of_rows:
        rows = graph.origin(value).node
        if graph.type(rows) not in op_types.LOOKUPS or not _has_indices(context, rows, effect):
            return None
        value = graph.inputs(rows)[0]
    if not _is_value(graph, value, effect.writes[0]):
        return None
    return kept(next(number for number in numbers if number is not None))


def _has_indices(context: Context, rows: str, effect: Effect) -> bool:
    """Whether a lookup takes the rows that an update of rows changes."""
    return context.graph.origin(context.graph.inputs(rows)[1]) == context.graph.origin(
        parse_tensor_name(effect.values[0])
    )


def _is_value(graph: Graph, tensor: TensorId, variable: str) -> bool:
    """Whether a tensor is a variable's value, read in any way."""
    while graph.type(tensor.node) in op_types.READS:
        tensor = graph.inputs(tensor.node)[0]
    return parse_tensor_name(variable).node == tensor.node
