"""Learning: optimizer, schedule, clipping and moving average of a lift's plan as the named fields of a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Set, Tuple

import numpy as np

from legacy.saved.graph import op_types
from legacy.source.basics.expressions import call
from legacy.source.basics.rendering import expression_text
from legacy.source.basics.unwritten import Unwritten
from workloads.lifted.graph import parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.saved.graph.imported import ImportedGraph
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Combine, Effect, Phase, Plan


class Rule(NamedTuple):
    """An optimizer of `workloads.optimizers`.

    Attributes:
      name: of the class.
      constants: {field: value}, in the order of the fields.
    """

    name: str
    constants: Dict[str, Any]

    def text(self) -> str:
        """Returns the text that makes the optimizer."""
        return expression_text(call("optimizers." + self.name, **self.constants))


#: {update rule: (class, {argument of the op: field})}.
_RULES: Dict[str, Tuple[str, Dict[str, str]]] = {
    "GradientDescent": ("GradientDescent", {}),
    "Momentum": ("Momentum", {"momentum": "momentum"}),
    "Adam": ("Adam", {"beta1": "beta1", "beta2": "beta2", "epsilon": "epsilon"}),
    "RMSProp": ("RMSProp", {"rho": "decay", "momentum": "momentum", "epsilon": "epsilon"}),
    "Adagrad": ("Adagrad", {}),
}


def find_rule(phase: Phase, imported: ImportedGraph, starts: Mapping[str, float]) -> Rule:
    """Finds the optimizer of a train op.

    Args:
      phase: the train op.
      imported: the lift's graph as TensorFlow imports it.
      starts: {slot: number that it starts from}.

    Returns:
      The optimizer.

    Raises:
      Unwritten: there are several, or one that no class describes.
    """
    found: Dict[str, Rule] = {}
    for effect in phase.effects:
        if is_rule(effect.op):
            rule = _rule_of(effect, imported)
            found[repr(rule)] = rule
    if not found:
        raise Unwritten("optimizer: written by hand, by " + ", ".join(sorted({e.op for e in phase.effects})))
    if list(found) and next(iter(found.values())).name == "Adagrad":
        found = {"": _with_start(next(iter(found.values())), phase, starts)} if len(found) == 1 else found
    if len(found) > 1:
        raise Unwritten("optimizer: several rules in one train op: " + ", ".join(r.text() for r in found.values()))
    return next(iter(found.values()))


def _with_start(rule: Rule, phase: Phase, starts: Mapping[str, float]) -> Rule:
    """Returns Adagrad with the value that its slots start from."""
    slots = [effect.writes[1] for effect in phase.effects if is_rule(effect.op) and len(effect.writes) > 1]
    least = min((starts[slot] for slot in slots if slot in starts), default=0.1)
    return rule._replace(constants={"initial_accumulator": np.float32(least)})


def is_rule(op: str) -> bool:
    """Returns whether an op type is an optimizer's update rule."""
    return op.startswith(("Apply", "SparseApply", "ResourceApply", "ResourceSparseApply"))


def _rule_of(effect: Effect, imported: ImportedGraph) -> Rule:
    kind = effect.op.replace("Resource", "").replace("Apply", "")
    if kind not in _RULES:
        raise Unwritten(f"optimizer: {effect.op} of {effect.writes[0]!r} has no class here")
    name, fields = _RULES[kind]
    definition = imported.definition(effect.node)
    arguments = [argument.name for argument in definition.input_arg][len(effect.writes) :]
    values = dict(zip(arguments, effect.values))
    constants: Dict[str, Any] = {}
    for argument, field in fields.items():
        value = imported.constant(*parse_tensor_name(values[argument]))
        if value is None:
            raise Unwritten(f"optimizer: {argument} of {effect.op} is not a constant")
        constants[field] = np.float32(value)
    attributes = {attribute.name for attribute in definition.attr}
    operation = imported.tf_graph.get_operation_by_name(effect.node)
    if "use_nesterov" in attributes and operation.get_attr("use_nesterov"):
        if kind != "Momentum":
            raise Unwritten(f"optimizer: {effect.op} with use_nesterov has no class here")
        constants["nesterov"] = True
    if "update_slots" in attributes and not operation.get_attr("update_slots"):
        raise Unwritten(f"optimizer: {effect.op} does not update its slots")
    return Rule(name, constants)


def find_counters(phase: Phase, imported: ImportedGraph) -> List[str]:
    """Returns the variables that a train op adds 1 to in every step, by one op alone."""
    found = []
    changed = [variable for effect in phase.effects for variable in effect.writes[:1]]
    for effect in [effect for effect in phase.effects if effect.condition is None]:
        if effect.op in op_types.ADDS and len(effect.values) == 1:
            value = imported.constant(*parse_tensor_name(effect.values[0]))
            if value is not None and value.shape == () and value == 1 and changed.count(effect.writes[0]) == 1:
                found.append(effect.writes[0])
    return found


def find_counter(plan: Plan, imported: ImportedGraph) -> str:
    """Returns the variable that counts the steps of a plan, of any dtype; "" if there is none, or several train ops.

    Of several, as where the average of a loss counts its own updates, it is one that a learning rate reads.
    """
    if len(plan.phases) > 1:
        return ""
    counters = find_counters(plan.phases[0], imported)
    integers = {variable.name for variable in plan.variables if variable.dtype.startswith("int")}
    read = _read_by_rates(plan, imported) if len(counters) > 1 else set()
    return min(counters, key=lambda name: (name not in read, name not in integers), default="")


def _read_by_rates(plan: Plan, imported: ImportedGraph) -> Set[str]:
    """Returns the variables that the learning rates of the only train op are made of."""
    todo = [effect.learning_rate for effect in plan.phases[0].effects if effect.learning_rate]
    seen: Set[str] = set()
    while todo:
        tensor = todo.pop()
        if tensor not in seen:
            seen.add(tensor)
            todo += [given.name for given in imported.tf_graph.get_tensor_by_name(tensor).op.inputs]
    return {plan.aliases[tensor] for tensor in seen if tensor in plan.aliases}


def learning_rate_tensor(phase: Phase) -> Optional[str]:
    """Returns the tensor of the learning rate, or None if rules take different ones."""
    tensors = {effect.learning_rate for effect in phase.effects if is_rule(effect.op)}
    return next(iter(tensors)) if len(tensors) == 1 else None


def combining(plan: Plan, graph: Graph, phase: Phase) -> str:
    """Finds how the towers' gradients are combined.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.

    Returns:
      "mean" or "sum".

    Raises:
      Unwritten: they are combined in another way, or not all in the same.
    """
    kinds: List[str] = []
    for combine in phase.combine:
        if combine.kind not in ("mean", "sum") or combine.affine or combine.scale != 1.0:
            how = _kind_in_words(combine, plan.towers)
            op = f"{combine.tensor} ({graph.type(parse_tensor_name(combine.tensor).node)})"
            is_changed_beside = combine.weight in {one.name for one in plan.variables if one.role != "weight"}
            what = "what changes" if is_changed_beside else "gradients of"
            raise Unwritten(f"combining: {what} {combine.weight!r}: {how}, in {op}")
        kinds.append(combine.kind)
    if len(set(kinds)) > 1:
        raise Unwritten("combining: " + " and ".join(sorted(set(kinds))))
    return kinds[0] if kinds else "mean"


def _kind_in_words(combine: Combine, towers: int) -> str:
    """Returns how results are combined, with the factor that comes besides: "mean, times 0.01"."""
    is_mean = combine.kind == "sum" and combine.divided
    kind, factor = ("mean", combine.scale * towers) if is_mean else (combine.kind, combine.scale)
    times = f", times {factor:g}" if combine.kind == "sum" and f"{factor:g}" != "1" else ""
    return kind + times + (" and something that no tower computes" if combine.affine else "")
