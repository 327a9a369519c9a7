"""Sentences on weights that are changed besides their update, under a condition, or by multiples of gradients."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.clipping import CLIPPING_SCOPES
from legacy.saved.facts.combining.words import is_summed
from legacy.saved.facts.updates.decoupled_decay import factor_of_weight
from legacy.saved.facts.updates.rows_of_moments import slots_read
from legacy.saved.graph import op_types
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Phase
from workloads.support.wording import SEVERAL, counted, listed, plural


def set_besides(analysed: AnalysedStep, phase: Phase) -> Iterator[str]:
    """Yields a sentence for each way in which weights are assigned besides their update, such as clipped."""
    weights = {variable.name for variable in analysed.plan.variables if variable.role == "weight"}
    groups: dict[tuple[str, bool], list[str]] = collections.defaultdict(list)
    for effect in phase.effects:
        if effect.writes[0] in weights and effect.node not in analysed.rules:
            ends = {parse_tensor_name(value)[0] for value in effect.values}
            nodes = analysed.graph.ancestors(ends, set(analysed.context.state.writes) | weights, controls=False)
            text = analysed.clippings.text(nodes - set(analysed.context.state.writes))
            factor = factor_of_weight(analysed.context, effect)
            rows = " in the rows that have a gradient" if op_types.is_sparse(effect.op) else ""
            otherwise = f"set by {effect.op}" if factor is None else f"multiplied by {factor:.6g}{rows}"
            groups["clipped " + text if text else otherwise, effect.condition is not None].append(effect.writes[0])
    for (text, is_conditional), each in groups.items():
        names = list(dict.fromkeys(each))
        which = listed(names, SEVERAL)
        how_many = counted(len(names), "weight is", "weights are")
        times = (
            f", by {len(each) // len(names)} ops each" if len(each) > len(names) and not len(each) % len(names) else ""
        )
        times += ", under a condition" if is_conditional else ""
        yield f"{phase.train_op}: {how_many} {text} besides {plural(len(names), 'its', 'their')} update{times}: {which}"


def updated_under_conditions(analysed: AnalysedStep, phase: Phase) -> Iterator[str]:
    """Yields a sentence on weights that a step updates under a condition, as where all gradients are finite."""
    effects = [effect for effect in phase.effects if effect.node in analysed.rules and effect.condition is not None]
    names = list(dict.fromkeys(effect.writes[0] for effect in effects))
    if names:
        how_many = counted(len(names), "weight is", "weights are")
        yield f"{phase.train_op}: {how_many} updated under a condition only: {listed(names, SEVERAL)}"


def multiplied_gradients(analysed: AnalysedStep, phase: Phase) -> Iterator[str]:
    """Yields a sentence on means of gradients that a computed number, as of a rate, multiplies."""
    factors: dict[str, str] = {}
    known = [one for one in phase.combine if one.kind in ("mean", "sum", "concat")]
    means = {one.weight for one in known if not is_summed(analysed, phase, one)}
    slots = {variable.name for variable in analysed.plan.variables if variable.role == "slot"}
    effects = [effect for effect in phase.effects if effect.writes[0] not in slots]  # a moment's decay is no factor
    effects = [effect for effect in effects if op_types.is_apply(effect.op) or not slots_read(analysed, effect)]
    effects = [effect for effect in effects if factor_of_weight(analysed.context, effect) is None]
    for effect in [effect for effect in effects if effect.gradient and effect.writes[0] in means]:
        between = analysed.of_values_between([effect.gradient or ""], analysed.combined(phase))
        applied = analysed.graph.origin(parse_tensor_name(effect.gradient or "")).node
        rate = analysed.learning_rate(effect)  # of rows, which are multiplied by it before they are subtracted
        found = [name for name in between if not CLIPPING_SCOPES.search(name)]
        found = [name for name in found if rate not in {tensor.name for tensor in analysed.graph.inputs(name)}]
        found = [name for name in found if _factor_of_gradient(analysed, name, name == applied)]
        if found:
            name = min(found, key=analysed.positions.__getitem__)
            factors[effect.writes[0]] = _factor_of_gradient(analysed, name, name == applied)
    if factors:
        gradients = counted(len(factors), "combined gradient is", "combined gradients are")
        numbers = list(dict.fromkeys(factors.values()))
        which = numbers[0] if len(numbers) == 1 else f"several numbers, such as {numbers[0]},"
        yield (
            f"{phase.train_op}: {gradients} multiplied or divided by {which} before the update takes "
            f"{plural(len(factors), 'it', 'them')}: {listed(list(factors), SEVERAL)}"
        )


def _factor_of_gradient(analysed: AnalysedStep, name: str, is_applied: bool) -> str:
    """The scalar by which a node multiplies or divides what is made of gradients; "" of any other, and of a 1.

    Scalars that are not applied as they are may be a bound over a norm.

    Args:
      analysed: the training step.
      name: of the node.
      is_applied: whether its result is what the update takes.

    Returns:
      The factor, or the name of the tensor that has it.
    """
    graph, imported = analysed.graph, analysed.imported
    if graph.type(name) not in ("Mul", "RealDiv", "Div") or (imported.shape(name) == () and not is_applied):
        return ""
    others = [tensor for tensor in graph.inputs(name) if tensor.node not in analysed.context.of_gradients]
    if len(others) != 1 or imported.shape(*others[0]) != ():
        return ""
    constant = imported.constant(*others[0])
    if constant is None:
        return others[0].name
    return "" if float(constant) == 1 else f"{float(constant):g}"
