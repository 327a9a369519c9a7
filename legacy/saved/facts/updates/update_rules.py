"""Facts of the update rules of a training step, with their constants."""

from __future__ import annotations

import collections
from collections.abc import Sequence

import numpy as np

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.effects import GRADIENTS, RATES
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.bias_corrections import without_correction
from legacy.saved.facts.basics.clipping import CLIPPING_SCOPES
from legacy.saved.facts.basics.first_values import with_first_value
from legacy.saved.facts.basics.whole_graph import scalar_constant
from legacy.saved.facts.updates.learning_rates import LearningRate, described_rate, outside_of_branch
from legacy.saved.facts.updates.plain_rules import plain_rule
from legacy.saved.facts.updates.rows_of_moments import moments_of_rows, slots_read
from legacy.saved.facts.updates.rows_of_variants import variant_of_rows
from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import copied_variable
from workloads.lifted.graph import SWITCHES, parse_tensor_name
from workloads.lifted.plan import Effect, Phase, weight_of_label

#: Arguments of update rules that are gradients, or have a section of their own.
NO_CONSTANTS = (*RATES, *GRADIENTS, "indices", "global_step")


def update_rule_rows(analysed: AnalysedStep, rates: Sequence[LearningRate] = ()) -> list[dict[str, str]]:
    """Returns the update rules with their constants, and the number of variables of each, or of updates if more.

    Rules that are equal but for their learning rates, as of two optimizers with two schedules, have a row each.

    Args:
      analysed: the training step.
      rates: its learning rates.
    """
    rate_of = {(rate.train_op, node): rate.tensor for rate in rates for node in rate.updates}
    groups: dict[tuple[str, str, str], dict[str, list[str]]] = collections.OrderedDict()
    for phase in analysed.phases:
        for effect in phase.effects:
            if effect.node in analysed.rules:
                key = (phase.train_op, _rule_name(analysed, phase, effect), _constants(analysed, phase, effect))
                rate = rate_of.get((phase.train_op, effect.node), "")
                groups.setdefault(key, collections.OrderedDict()).setdefault(rate, []).append(effect.writes[0])
    return [
        {
            "train op": op,
            "rule": rule,
            "constants": constants if len(by_rate) == 1 or not rate else _with_rate(rate, constants),
            "variables": _count(names),
        }
        for (op, rule, constants), by_rate in groups.items()
        for rate, names in by_rate.items()
    ]


def _with_rate(rate: str, constants: str) -> str:
    """The constants of a rule behind the tensor that is its learning rate.

    >>> _with_rate("decay:0", "momentum=0.9"), _with_rate("decay:0", "-")
    ('learning rate decay:0, momentum=0.9', 'learning rate decay:0')
    """
    return f"learning rate {rate}" + (f", {constants}" if constants != "-" else "")


def _count(names: list[str]) -> str:
    """The number of variables that updates change; several updates change one where each tower applies its own."""
    distinct = len(set(names))
    return str(distinct) if distinct == len(names) else f"{distinct}, by {len(names)} updates"


def _rule_name(analysed: AnalysedStep, phase: Phase, effect: Effect) -> str:
    op = effect.op
    if op_types.is_apply(op):
        return op_types.rule_name(op)
    if copied_variable(analysed.graph, effect.node):
        return f"none: a copy of another weight in another type ({op})"
    rule = plain_rule(analysed, phase, effect)
    if rule is not None:
        return f"{rule.name}, of plain ops ({op})"
    if moments_of_rows(analysed, phase, effect):
        return f"Adam, row by row ({op})" if "Scatter" in op else f"Adam, of rows ({op})"
    variant = variant_of_rows(analysed, phase, effect)
    if variant is not None:
        return f"{variant.name}, row by row ({op})"
    is_plain = "ScatterSub" in op and not slots_read(analysed, effect)
    return f"GradientDescent, row by row ({op})" if is_plain else f"written by hand ({op})"


def _constants(analysed: AnalysedStep, phase: Phase, effect: Effect) -> str:
    """The scalar constants that an update rule takes, e.g. "beta1=0.9, beta2=0.999"; "-" if there are none."""
    rule = None if op_types.is_apply(effect.op) else plain_rule(analysed, phase, effect)
    if rule is not None:
        return rule.constants
    variant = variant_of_rows(analysed, phase, effect)
    moments = moments_of_rows(analysed, phase, effect) or (variant and variant.constants)
    if moments is not None:
        rate = analysed.learning_rate(effect)
        given = parse_tensor_name(without_correction(analysed, rate)) if rate else None
        constant = analysed.imported.constant(*given) if given else None
        numbers = {**({} if constant is None else {"lr": float(constant)}), **moments._asdict()}
        return ", ".join(f"{name}={number:g}" for name, number in numbers.items())
    if "Scatter" in effect.op and not slots_read(analysed, effect):
        return "-"  # gradients times the learning rate, row by row
    if not op_types.is_apply(effect.op):
        return _constants_by_hand(analysed, phase, effect)
    texts = []
    held = {argument: variable for variable, argument in held_constants(analysed, effect).items()}
    for argument, tensor in _arguments(analysed, effect):
        outside = outside_of_branch(analysed.graph, tensor)
        constant = analysed.imported.constant(*parse_tensor_name(outside))
        if constant is not None and np.ndim(constant) == 0:
            texts.append(f"{argument}={float(constant):g}")
        elif argument in held and argument not in RATES:
            texts.append(f"{argument} in {with_first_value(analysed.whole, held[argument])}")
        elif argument.endswith("_power") and _is_of_decay(analysed, effect, argument, tensor):
            continue  # b^t of its own decay, as Adam has it
        elif argument not in NO_CONSTANTS and _variable_read(analysed, tensor) is None:
            texts.append(_scheduled(analysed, phase, argument, tensor))
    attributes = analysed.graph.nodes[effect.node].attr
    if "use_nesterov" in attributes and attributes["use_nesterov"].b:
        texts.append("nesterov")
    return ", ".join(texts) or "-"


def _is_of_decay(analysed: AnalysedStep, effect: Effect, argument: str, tensor: str) -> bool:
    """Whether beta1_power, or beta2_power, is beta1^(count + 1), of a counter of steps."""
    graph, power = analysed.graph, analysed.graph.origin(parse_tensor_name(tensor))
    decays = [value for name, value in _arguments(analysed, effect) if name == argument.replace("_power", "")]
    if graph.type(power.node) != "Pow" or len(decays) != 1:
        return False
    base, exponent = graph.inputs(power.node)
    raised = graph.origin(exponent).node
    while graph.type(raised) in op_types.COPIES:
        raised = graph.inputs(raised)[0].node
    terms = graph.inputs(raised) if graph.type(raised) in op_types.ADDITIONS else []
    ones = [term for term in terms if updates_by_hand.scalar(analysed.context, term) == 1]
    reads = graph.ancestors([term.node for term in terms if term not in ones], controls=False) - {raised}
    counters = [name for name in reads if graph.type(name) in op_types.VARIABLES]
    is_count = len(terms) == 2 and len(ones) == 1 and len(counters) == 1 and analysed.is_counter(counters[0])
    return is_count and _variable_read(analysed, base.name) == _variable_read(analysed, decays[0])


def _scheduled(analysed: AnalysedStep, phase: Phase, argument: str, tensor: str) -> str:
    """A number of an update rule that is none of the graph's constants, such as a momentum that grows with the step."""
    found = described_rate(analysed, phase.train_op, tensor, {})
    return f"{argument} by step ({found.values})" if found.values != "-" else f"{argument}: {found.text}"


def held_constants(analysed: AnalysedStep, effect: Effect) -> dict[str, str]:
    """Returns {variable: argument of the rule} of a rule's constants that are in variables.

    A program assigns them between its runs, such as a momentum that begins small. No step changes them, but perhaps
    that of the learning rate.

    Args:
      analysed: the step.
      effect: the update op.
    """
    if not op_types.is_apply(effect.op):
        return {}
    found = [(_variable_read(analysed, tensor), argument) for argument, tensor in _arguments(analysed, effect)]
    return {
        name: argument
        for name, argument in found
        if name is not None and (argument in RATES or not analysed.is_changed(name))
    }


def _variable_read(analysed: AnalysedStep, tensor: str) -> str | None:
    """The variable whose value a tensor is; None of any other tensor."""
    before = parse_tensor_name(tensor)
    while analysed.graph.type(before.node) in ("Identity", "ReadVariableOp", "Cast", *SWITCHES):
        before = analysed.graph.inputs(before.node)[0]
    return analysed.plan.aliases.get(tensor) or analysed.plan.aliases.get(before.name)


def _arguments(analysed: AnalysedStep, effect: Effect) -> list[tuple[str, str]]:
    """(name, tensor) of what an update op takes besides its variables."""
    names = [argument.name for argument in analysed.imported.definition(effect.node).input_arg]
    return list(zip(names[len(effect.writes) :], effect.values))


def _constants_by_hand(analysed: AnalysedStep, phase: Phase, effect: Effect) -> str:
    """The numbers in an update that was written by hand, its slots' updates included, in the graph's order."""
    if copied_variable(analysed.graph, effect.node):
        return "-"
    entries = [entry for entry in phase.combine if weight_of_label(entry.weight) == effect.writes[0]]
    combined = [name for entry in entries for tower in entry.parts for name in tower]
    slots = _slot_updates(analysed, effect, combined)
    ends = [value for update in [effect, *slots] for value in update.values]
    rate = parse_tensor_name(analysed.learning_rate(effect) or "").node
    given = [*analysed.tower_ends, *(entry.tensor for entry in phase.combine if entry.tensor not in effect.values)]
    given += [rate] if rate and scalar_constant(analysed.graph.nodes[rate]) is None else []
    nodes = sorted(analysed.between(ends, given), key=analysed.positions.__getitem__)
    numbers = [scalar_constant(analysed.graph.nodes[name]) for name in nodes if not CLIPPING_SCOPES.search(name)]
    texts = [f"{number:g}" for number in numbers if isinstance(number, float) and np.isfinite(number)]
    return ", ".join(dict.fromkeys(texts)) or "-"


def _slot_updates(analysed: AnalysedStep, effect: Effect, combined: list[str]) -> list[Effect]:
    """Assignments of what depends on a weight's gradient to other variables, which the weight's update reads.

    They lie between the towers and the update, so that no path is followed into the towers.
    """
    start = {parse_tensor_name(name)[0] for name in combined}
    behind = analysed.graph.descendants(start, controls=False)
    effects = [other for one in analysed.plan.phases for other in one.effects if other.node in behind]
    effects = [other for other in effects if other.writes != effect.writes]
    if not effects:
        return []
    needed = analysed.graph.ancestors([effect.node], analysed.tower_ends, controls=True)
    return [other for other in effects if other.node in needed]
