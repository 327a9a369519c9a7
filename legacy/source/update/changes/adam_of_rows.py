"""Adam's update of the rows of a table, which TensorFlow 1.x writes with five changes: one change, by a function."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Sequence, Set, Tuple

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.source.basics.expressions import Argument, Call, Expression
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Effect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.graph import Graph
    from workloads.lifted.graph.tensor_names import TensorId
    from workloads.lifted.plan import Phase, Plan

#: Stands for the op type of the one change.
OP = "AdamOfRows"
_NAME = "apply_adam_to_rows"
#: Parameters of the function after the table and its moments, as those of `tf.raw_ops.ResourceApplyAdam` are named.
_VALUES = ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "values", "indices")
_PARAMETERS = ("var", "m", "v", *_VALUES)
#: {function: its text}.
FUNCTIONS = {
    _NAME: [
        f"def {_NAME}({', '.join(_PARAMETERS)}):",
        '    """Applies gradients of rows as Adam in TensorFlow 1.x: all moments decay, and all rows move."""',
        "    indices, positions = tf.unique(indices)",
        "    gradient = tf.math.unsorted_segment_sum(values, positions, tf.shape(indices)[0])  # the sum for each row",
        "    beta1, beta2 = (tf.convert_to_tensor(beta, gradient.dtype) for beta in (beta1, beta2))",
        "    m.assign(m * beta1)",
        "    m.scatter_add(tf.IndexedSlices(gradient * (1.0 - beta1), indices))",
        "    v.assign(v * beta2)",
        "    v.scatter_add(tf.IndexedSlices(gradient * gradient * (1.0 - beta2), indices))",
        "    lr = lr * tf.sqrt(1.0 - beta2_power) / (1.0 - beta1_power)",
        "    var.assign_sub(lr * m / (tf.sqrt(v) + epsilon))",
    ]
}
#: How the value of each change is computed: (op types, inputs); a text is what the tensor is, in all of the changes.
_FIRST = ("Mul", "old_m", "beta1")
_ADDED_TO_FIRST = ("Mul", "gradient", ("Sub", 1.0, "beta1"))
_SECOND = ("Mul", "old_v", "beta2")
_ADDED_TO_SECOND = ("Mul", ("Mul", "gradient", "gradient"), ("Sub", 1.0, "beta2"))
_RATE = (op_types.DIVISIONS, ("Mul", "lr", ("Sqrt", ("Sub", 1.0, "beta2_power"))), ("Sub", 1.0, "beta1_power"))
_MOVE = (op_types.DIVISIONS, ("Mul", _RATE, "new_m"), (op_types.SUMS_OF_TWO, ("Sqrt", "new_v"), "epsilon"))
_SUM = ("UnsortedSegmentSum", "values", "positions", ("StridedSlice", ("Shape", "rows"), 0, 1, 1))


class _Changes(NamedTuple):
    """The changes of a table and its moments: those of each moment are a decay and a scattered addition."""

    first: List[Effect]
    second: List[Effect]
    move: Effect


def adam_call(arguments: Sequence[Expression]) -> Expression:
    """Returns the call of the function, of a table, its moments and the values of the one change."""
    return Call(_NAME, tuple(Argument(name, value) for name, value in zip(_PARAMETERS, arguments)))


def join_adam_of_rows(plan: Plan, graph: Graph, phase: Phase, effects: Sequence[Effect]) -> List[Effect]:
    """Finds the updates of tables by Adam.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      effects: its changes, in order.

    Returns:
      The changes, in which one stands for the five of such an update: where the first of these was, unless the table
      has further changes, with which its own keep their order.
    """
    changes: Dict[str, List[Effect]] = collections.defaultdict(list)
    for effect in effects:
        for name in effect.writes:
            changes[name].append(effect)
    joined: Dict[str, List[Effect]] = {}
    for effect in effects:
        parts = _changes_of(plan, effect, changes)
        made = _joined(plan, graph, phase, parts) if parts else None
        if parts and made:
            own = [one for one in effects if one in (*parts.first, *parts.second, parts.move)]
            joined.update({one.node: [] for one in own})
            joined[(own[0] if changes[effect.writes[0]] == [effect] else effect).node] = [made]
    return [one for effect in effects for one in joined.get(effect.node, [effect])]


def _changes_of(plan: Plan, move: Effect, changes: Dict[str, List[Effect]]) -> _Changes | None:
    """Returns the changes of a table that a change moves, and of its moments, if they may be Adam's."""
    table = move.writes[0]
    slots = [variable.name for variable in plan.variables if variable.role == "slot" and variable.of == table]
    if _kind(move) != "AssignSub" or len(slots) != 2:
        return None
    first, second = (changes[slot] for slot in slots)
    if any([_kind(one) for one in own] != ["Assign", "ScatterAdd"] for own in (first, second)):
        return None
    is_alike = all(one.conditions == move.conditions for one in first + second)
    return _Changes(first, second, move) if is_alike else None


def _kind(effect: Effect) -> str:
    """Returns the op type of a change, whatever the variable is."""
    return effect.op.replace("Resource", "").replace("VariableOp", "")


def _joined(plan: Plan, graph: Graph, phase: Phase, changes: _Changes) -> Effect | None:
    """Returns the change that stands for those of a table, if they are Adam's."""
    found: Dict[str, TensorId] = {}
    (decay, add), (decay_of_squares, add_square), move = changes
    pairs = [
        (move.values[0], _MOVE),
        (decay.values[0], _FIRST),
        (add.values[1], _ADDED_TO_FIRST),
        (decay_of_squares.values[0], _SECOND),
        (add_square.values[1], _ADDED_TO_SECOND),
        (add.values[0], "rows"),
        (add_square.values[0], "rows"),
    ]
    if not all(_matches(graph, parse_tensor_name(tensor), pattern, found) for tensor, pattern in pairs):
        return None
    rows = graph.origin(found["rows"])
    if graph.type(rows.node) != "Unique" or rows.output or not _matches(graph, found["gradient"], _SUM, found):
        return None
    if graph.origin(found["positions"]) != rows._replace(output=1):
        return None
    found["indices"] = graph.inputs(rows.node)[0]
    if not _reads_moments(plan, graph, phase, changes, found):
        return None
    writes = [move.writes[0], decay.writes[0], decay_of_squares.writes[0]]
    values = [f"{found[name].node}:{found[name].output}" for name in _VALUES]
    at = _VALUES.index("values")
    return Effect(
        move.node, OP, writes, values, values[at], None, at, condition=move.condition, around=list(move.around)
    )


def _reads_moments(plan: Plan, graph: Graph, phase: Phase, changes: _Changes, found: Mapping[str, TensorId]) -> bool:
    """Returns whether the decays read the moments of before the step, and the move, and nothing else, those of after.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      changes: of a table.
      found: {name in a pattern: tensor}.

    Returns:
      Whether they do; of other variables, what the changes read is also of before the step.
    """
    quotient = graph.origin(parse_tensor_name(changes.move.values[0]))
    product, denominator = (graph.origin(one).node for one in graph.inputs(quotient.node))
    readers = [("m", product), ("v", graph.origin(graph.inputs(denominator)[0]).node)]
    moments = [changes.first[0].writes[0], changes.second[0].writes[0]]
    for moment, (name, reader) in zip(moments, readers):
        old, new = found[f"old_{name}"], found[f"new_{name}"]
        if any(_variable(plan, graph, one) != moment for one in (old, new)):
            return False
        later = [(one.version, one.node in (reader, new.node)) for one in phase.versions if one.variable == moment]
        if later != [(2, True)]:
            return False
    effects = [*changes.first, *changes.second, changes.move]
    inside = {node for effect in effects for value in effect.values for node in _inside(graph, value, found)}
    return all(one.variable in moments for one in phase.versions if one.node in inside)


def _inside(graph: Graph, tensor: str, found: Mapping[str, TensorId]) -> Set[str]:
    """Returns the nodes between a change's value and what the patterns give a name."""
    return graph.ancestors([parse_tensor_name(tensor).node], {found[name].node for name in _VALUES}, controls=False)


def _variable(plan: Plan, graph: Graph, tensor: TensorId) -> str:
    """Returns the variable that a tensor is a value of, or ""."""
    own = graph.origin(tensor)
    if graph.type(own.node) == "ReadVariableOp":
        own = graph.inputs(own.node)[0]
    return plan.aliases.get(f"{own.node}:{own.output}", "")


def _matches(graph: Graph, tensor: TensorId, pattern: Any, found: Dict[str, TensorId]) -> bool:
    """Returns whether a tensor is computed as a pattern says; what the pattern names is put in `found`."""
    own = graph.origin(tensor)
    if isinstance(pattern, str):
        return graph.origin(found.setdefault(pattern, tensor)) == own
    node = graph.nodes[own.node]
    if not isinstance(pattern, tuple):
        return node.op == "Const" and bool((tf.make_ndarray(node.attr["value"].tensor) == pattern).all())
    types: Tuple[str, ...] = pattern[0] if isinstance(pattern[0], tuple) else (pattern[0],)
    inputs = graph.inputs(own.node)
    if node.op not in types or len(inputs) != len(pattern) - 1:
        return False
    return all(_matches(graph, one, part, found) for one, part in zip(inputs, pattern[1:]))
