"""Facts of the update rules of a training step, with their constants."""

from __future__ import annotations

import collections

import numpy as np

from legacy.saved.analysis.effects import RATES
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.clipping import CLIPPING_SCOPES
from legacy.saved.facts.basics.whole_graph import scalar_constant
from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import copied_variable
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Effect, Phase, weight_of_label


def update_rule_rows(analysed: AnalysedStep) -> list[dict[str, str]]:
    """The update rules with their constants, and the number of variables of each, or of updates if they are more."""
    groups: dict[tuple[str, str, str], list[str]] = collections.OrderedDict()
    for phase in analysed.phases:
        for effect in phase.effects:
            if effect.node in analysed.rules:
                key = (phase.train_op, _rule_name(analysed, phase, effect), _constants(analysed, phase, effect))
                groups.setdefault(key, []).append(effect.writes[0])
    return [
        {"train op": op, "rule": rule, "constants": constants, "variables": _count(names)}
        for (op, rule, constants), names in groups.items()
    ]


def _count(names: list[str]) -> str:
    """The number of variables that updates change; several updates change one where each tower applies its own."""
    distinct = len(set(names))
    return str(distinct) if distinct == len(names) else f"{distinct}, by {len(names)} updates"


def _rule_name(analysed: AnalysedStep, phase: Phase, effect: Effect) -> str:
    op = effect.op
    if "ScatterSub" in op:
        return f"GradientDescent, row by row ({op})"
    if op_types.is_apply(op):
        return op_types.rule_name(op)
    if copied_variable(analysed.graph, effect.node):
        return f"none: a copy of another weight in another type ({op})"
    return f"Adam, of rows ({op})" if _is_adam_of_rows(analysed, phase, effect) else f"written by hand ({op})"


def _is_adam_of_rows(analysed: AnalysedStep, phase: Phase, effect: Effect) -> bool:
    """Whether an assignment is the one that TensorFlow's Adam makes of rows: it adds them to two decayed moments."""
    moments = {v.name for v in analysed.plan.variables if v.role == "slot" and v.of == effect.writes[0]}
    scattered = {other.writes[0] for other in phase.effects if "ScatterAdd" in other.op}
    return "AssignSub" in effect.op and len(moments) == 2 and moments <= scattered


def _constants(analysed: AnalysedStep, phase: Phase, effect: Effect) -> str:
    """The scalar constants that an update rule takes, e.g. "beta1=0.9, beta2=0.999"; "-" if there are none."""
    if "Scatter" in effect.op:
        return "-"  # gradients times the learning rate, row by row
    if not op_types.is_apply(effect.op):
        return _constants_by_hand(analysed, phase, effect)
    texts = []
    held = {argument: variable for variable, argument in held_constants(analysed, effect).items()}
    for argument, tensor in _arguments(analysed, effect):
        constant = analysed.imported.constant(*parse_tensor_name(tensor))
        if constant is not None and np.ndim(constant) == 0:
            texts.append(f"{argument}={float(constant):g}")
        elif argument in held and argument not in RATES:
            texts.append(f"{argument} in {held[argument]}")
    attributes = analysed.graph.nodes[effect.node].attr
    if "use_nesterov" in attributes and attributes["use_nesterov"].b:
        texts.append("nesterov")
    return ", ".join(texts) or "-"


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
    while analysed.graph.type(before.node) in ("Identity", "ReadVariableOp"):
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
