"""Updates of rows with the moments of their gradients, as TensorFlow's Adam makes them of plain ops."""

from __future__ import annotations

from typing import NamedTuple

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.order.equal_rows import SETS_ROWS
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Effect, Phase

#: Ops whose result is their first input, or rows of it, perhaps after a change.
_PASSES = ("Identity", "ReadVariableOp", "Cast", *op_types.LOOKUPS)


class Moments(NamedTuple):
    """Constants of an update by lr * m / (sqrt(v) + epsilon)."""

    beta1: float
    beta2: float
    epsilon: float


def slots_read(analysed: AnalysedStep, effect: Effect) -> set[str]:
    """Returns the slots that the value of an update is computed from, without scalars such as the learning rate."""
    ends = [parse_tensor_name(value).node for value in effect.values]
    before = analysed.graph.ancestors(ends, analysed.tower_ends, controls=False)
    return {v.name for v in analysed.plan.variables if v.role == "slot" and v.shape != [] and v.name in before}


def change_of(effect: Effect, *ops: str) -> TensorId | None:
    """Returns the tensor that an update adds or subtracts if its op is of one of some kinds, such as "ScatterSub".

    >>> scatter = Effect("update", "ResourceScatterSub", ["w"], ["rows:0", "change:0"])
    >>> change_of(scatter, "AssignSub", "ScatterSub").node, change_of(scatter, "ScatterAdd")
    ('change', None)
    """
    return parse_tensor_name(effect.values[-1]) if effect.values and any(op in effect.op for op in ops) else None


def slots_of(analysed: AnalysedStep, effect: Effect) -> set[str]:
    """Returns the slots of the variable that an update changes."""
    return {v.name for v in analysed.plan.variables if v.role == "slot" and v.of == effect.writes[0]}


def moments_of_rows(analysed: AnalysedStep, phase: Phase, effect: Effect) -> Moments | None:
    """Finds the constants of Adam's update of a table of which only some rows have gradients.

    `tf.train.AdamOptimizer` adds the rows to two moments and changes the whole table by them; a lazy Adam changes these
    rows alone.

    Args:
      analysed: the training step.
      phase: the train op.
      effect: an update.

    Returns:
      The constants; None for any other update.
    """
    graph, change = analysed.graph, change_of(effect, "AssignSub", "ScatterSub")
    if change is None:
        return None
    name = graph.origin(change).node
    if graph.type(name) not in op_types.QUOTIENTS:
        return None
    first, divisor = [tensor.node for tensor in graph.inputs(name)]
    terms = graph.inputs(divisor) if graph.type(divisor) in op_types.ADDITIONS else []
    roots = [term.node for term in terms if graph.type(term.node) == "Sqrt"]
    numbers = [updates_by_hand.scalar(analysed.context, term) for term in terms if term.node not in roots]
    if len(roots) != 1 or len(numbers) != 1 or numbers[0] is None or graph.type(first) != "Mul":
        return None
    slots = slots_of(analysed, effect)
    firsts = {variable_of_rows(analysed, tensor.node) for tensor in graph.inputs(first)} & slots
    second = variable_of_rows(analysed, graph.inputs(roots[0])[0].node)
    if len(firsts) != 1 or second not in slots - firsts:
        return None
    decays = [decay_of_slot(analysed, phase, slot) for slot in (*firsts, second)]
    return None if None in decays else Moments(decays[0] or 0.0, decays[1] or 0.0, numbers[0])


def variable_of_rows(analysed: AnalysedStep, name: str) -> str:
    """Returns the variable whose value or rows a node reads, or that is set to its result; "" for any other node."""
    graph, writes, source = analysed.graph, analysed.context.state.writes, name
    while graph.type(source) in _PASSES or source in writes:
        source = graph.inputs(source)[0].node
    if graph.type(source) in op_types.VARIABLES:
        return source
    setters = [use.node for use in graph.users(name) if graph.type(use.node) in SETS_ROWS]
    kept = {graph.origin(graph.inputs(setter)[0]).node for setter in setters}
    return kept.pop() if len(kept) == 1 else ""


def decay_of_slot(analysed: AnalysedStep, phase: Phase, slot: str) -> float | None:
    """Returns the only number by which a run multiplies the value, or rows, of a slot before it sets them.

    Args:
      analysed: the training step.
      phase: the train op.
      slot: name of the variable.

    Returns:
      The number; None where there is none, or where there are several.
    """
    graph = analysed.graph
    ends = [parse_tensor_name(effect.values[-1]).node for effect in phase.effects if slot in effect.writes[:1]]
    found = set()
    for name in graph.ancestors(ends, analysed.tower_ends, controls=False):
        if graph.type(name) == "Mul":
            for own, other in (graph.inputs(name), graph.inputs(name)[::-1]):
                if variable_of_rows(analysed, own.node) == slot:
                    found.add(updates_by_hand.scalar(analysed.context, other))
    return found.pop() if len(found) == 1 else None
