"""Sentences on gradients that are summed over towers."""

from __future__ import annotations

from legacy.saved.analysis.loss_scale import has_sum
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.clipping import CLIPPING_SCOPES, SCALES
from legacy.saved.facts.combining.data_divisors import divisor_of_gradients, divisor_of_losses
from legacy.saved.facts.combining.loss_factors import (
    BY_WHOLE_BATCH,
    are_divided_by_the_whole_batch,
    factors_of_losses,
    may_be_their_own,
    of_all_examples,
)
from legacy.saved.facts.combining.rows import NO_WORK, listed_types
from legacy.saved.facts.combining.words import OWN_CONSTANTS, SCALE_TOLERANCE, is_summed, mean_of_parts, share_of_mean
from legacy.saved.graph import op_types
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Phase
from workloads.lifted.tensors.gradient_names import GRADIENTS, is_gradient_op
from workloads.support.wording import SEVERAL, listed

#: Ops that make rows of a table a dense gradient, which changes no number of it.
MADE_DENSE = {"UnsortedSegmentSum", "StridedSlice", "Cast"}


def sum_text(analysed: AnalysedStep, phase: Phase) -> str:
    """Returns a sentence on a sum of the towers' gradients: a mean where their losses are divided, or scaled later.

    There is none on sums that are kept between runs, and scaled where an update takes them.
    """
    changed = _changes_in_towers(analysed, phase)
    if changed:
        text = f"gradients are changed in their towers ({listed_types(changed)}) before they are summed"
        return text + _divided_text(analysed, phase)
    of_all = divisor_of_losses(analysed, phase)
    if of_all:
        return f"the towers' losses are summed, and the sum divided by {of_all}, a number that the data give"
    towers = analysed.plan.towers
    factors = factors_of_losses(analysed, phase)
    are_parts = bool(factors) and all(abs(factor * towers - 1) < SCALE_TOLERANCE for factor in factors)
    if are_parts and not may_be_their_own(analysed, phase):
        return f"what each tower's loss makes of its data counts 1/{towers}: the sum of gradients is a mean of those"
    effects = {effect.writes[0]: effect for effect in phase.effects if effect.gradient and effect.writes}
    sums = [one for one in phase.combine if is_summed(analysed, phase, one)]
    summed = [one for one in sums if one.weight in effects]
    if summed and all(mean_of_parts(one) for one in summed):
        return f"gradients are combined to {mean_of_parts(summed[0])}"
    scales = {one.scale for one in summed}
    is_plain = scales == {1.0} and may_be_their_own(analysed, phase)  # such as the half of a square beside a penalty
    makes_mean = all(abs(s * f * towers - 1) < SCALE_TOLERANCE for s in scales for f in factors)
    if factors and summed and makes_mean and not is_plain:
        return f"gradients are combined to their mean, without the losses' factor of {factors[0]:g}"
    if summed and 1.0 not in scales and not any(op_types.is_apply(effects[one.weight].op) for one in summed):
        return f"gradients are summed over towers, times {scales.pop():g}{OWN_CONSTANTS}"
    combined = [one.tensor for one in phase.combine]  # a global norm is made of all of them
    scaled = [one for one in summed if _is_scaled_later(analysed, effects[one.weight].gradient or "", combined)]
    if summed and len(scaled) == len(summed):
        multiplied = ", and the sums multiplied by numbers that the graph computes"
        return "gradients are summed over towers" + (_divided_text(analysed, phase) or multiplied)
    others = {one.weight for one in phase.combine if one.kind == "mean" or one not in sums and one.kind == "sum"}
    if others:
        which = listed([one.weight for one in sums], SEVERAL)
        return f"of the gradients, those of {which} are summed over towers, and those of others averaged"
    constants = {one.scale for one in sums}
    if constants and 1.0 not in constants:
        scale = constants.pop() if len(constants) == 1 else None
        share = share_of_mean(analysed, phase, scale * towers) if scale else ""
        return f"gradients are summed over towers, times {f'{scale:g}' if scale else 'constants'}{share}"
    if analysed.accumulators.issuperset(one.weight for one in sums) and _are_scaled_behind(analysed):
        return ""
    if are_divided_by_the_whole_batch(analysed, phase):
        return f"gradients are summed over towers, {BY_WHOLE_BATCH}"
    losses = [parse_tensor_name(name).node for name in phase.losses]
    if are_parts and not any(has_sum(analysed.graph, analysed.context.data, name) for name in losses):
        factor = f"each tower's loss, no sum over examples, has a factor of {factors[0]:g}"
        return f"gradients are summed over towers; {factor}: if that is one over the towers, it is a mean"
    of_examples = of_all_examples(analysed, factors)
    if of_examples.startswith(","):
        return f"gradients are summed over towers{of_examples}: a mean"
    return "gradients are summed over towers, not averaged" + of_examples


def _divided_text(analysed: AnalysedStep, phase: Phase) -> str:
    """The end of a sentence on sums of gradients that are each divided by a number of the data; "" for others."""
    combined = [one.tensor for one in phase.combine]
    effects = [effect for effect in phase.effects if effect.gradient and effect.node in analysed.rules]
    divisors = [divisor_of_gradients(analysed, effect.gradient or "", combined) for effect in effects]
    each = list(dict.fromkeys(divisors))
    if not all(each) or not each:
        return ""
    number = f"{each[0]}, a number" if len(each) == 1 else f"numbers, such as {each[0]},"
    return f", and the sums divided by {number} that the data give"


def _changes_in_towers(analysed: AnalysedStep, phase: Phase) -> list[str]:
    """Types of the ops that towers compute with their gradients before these are summed, other than clipping."""
    graph, found = analysed.graph, set()
    for combine in [one for one in phase.combine if is_summed(analysed, phase, one)]:
        todo = [parse_tensor_name(name).node for tower in combine.parts for name in tower]
        while todo:
            name = todo.pop()
            if GRADIENTS.search(name) or is_gradient_op(name) or name not in analysed.context.of_gradients:
                continue
            if CLIPPING_SCOPES.search(name):
                return []  # it has a column of its own
            found.add(graph.type(name))
            todo += [tensor.node for tensor in graph.inputs(name)]
    dense = MADE_DENSE if "UnsortedSegmentSum" in found else set()
    return sorted(found - NO_WORK - {"Reshape", "ExpandDims"} - dense)


def _are_scaled_behind(analysed: AnalysedStep) -> bool:
    """Whether an update multiplies or divides what other runs have added up."""
    effects = [effect for phase in analysed.phases for effect in phase.effects if effect.node in analysed.rules]
    ends = [effect.gradient or effect.values[0] for effect in effects if effect.values]
    return any(
        analysed.graph.type(name) in SCALES and any(n.node in kept for n in analysed.graph.inputs(name))
        for kept in [analysed.graph.descendants(analysed.accumulators, controls=False)]
        for name in analysed.between(ends, sorted(analysed.accumulators))
    )


def _is_scaled_later(analysed: AnalysedStep, gradient: str, combined: list[str]) -> bool:
    """Whether combined gradients are multiplied or divided before the update takes one, other than to clip it."""
    nodes = frozenset(parse_tensor_name(name).node for name in combined)
    return any(
        analysed.graph.type(name) in SCALES and not CLIPPING_SCOPES.search(name)
        for name in analysed.of_values_between([gradient], nodes)
    )
