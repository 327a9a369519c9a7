"""Effects of a step: its update ops, each with its inputs, gradient, learning rate and condition, for the plan."""

from __future__ import annotations

from collections.abc import Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.conditions import enclosing_conditions
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.variables import VariableUses
from workloads.lifted.graph import SWITCHES, Graph, TensorId, parse_tensor_name, tensor_name
from workloads.lifted.plan import Condition, Effect
from workloads.support.errors import InputError

#: Names that the op definitions of update rules have for the learning rate, and for the gradient.
RATES = ("lr", "alpha")
GRADIENTS = ("grad", "delta", "updates")


def describe_effects(graph: Graph, imported: ImportedGraph, state: VariableUses, names: Sequence[str]) -> list[Effect]:
    """Describes update ops for the plan: their inputs, gradient, learning rate, and the condition they run under.

    Args:
      graph: the cut graph.
      imported: the same graph as TensorFlow imports it.
      state: its variables.
      names: the update ops, in the order in which they run.

    Returns:
      An `Effect` for each update op.

    Raises:
      InputError: a variable is updated inside a loop, or in a branch that several predicates enter.
    """
    frames = graph.frames()
    for name in names:
        if name in frames:
            raise InputError(f"graph file: {name!r} changes variables inside a while loop, which is not lifted")
    effects = [_effect(graph, imported, state, name) for name in names]
    first: dict[tuple[TensorId, int], str] = {}
    for effect in effects:
        effect.learning_rate = _first_cast(graph, effect.learning_rate, first)
    return effects


def _first_cast(graph: Graph, rate: str | None, first: dict[tuple[TensorId, int], str]) -> str | None:
    """The first of the equal casts of one learning rate: a weight of another dtype than float32 gets its own cast."""
    node = parse_tensor_name(rate).node if rate else ""
    if not rate or graph.type(node) != "Cast":
        return rate
    return first.setdefault((graph.inputs(node)[0], graph.nodes[node].attr["DstT"].type), rate)


def _effect(graph: Graph, imported: ImportedGraph, state: VariableUses, name: str) -> Effect:
    writes, kind = state.writes[name], graph.type(name)
    conditions = _conditions(graph, name)
    arguments = [argument.name for argument in imported.definition(name).input_arg][len(writes) :]
    inputs = graph.inputs(name)[len(writes) :]
    applies = op_types.is_apply(kind)
    gradient = _position(arguments, GRADIENTS) if applies or op_types.is_sparse(kind) else -1
    rate = _position(arguments, RATES) if applies else -1
    return Effect(
        node=name,
        op=kind,
        writes=writes,
        values=[tensor_name(*tensor) for tensor in inputs],
        gradient=_before_cond(graph, inputs[gradient], conditions) if gradient >= 0 else None,
        learning_rate=_before_cond(graph, inputs[rate], conditions) if rate >= 0 else None,
        gradient_at=gradient,
        learning_rate_at=rate,
        condition=conditions[-1] if conditions else None,
        around=conditions[:-1],
    )


def _position(arguments: list[str], names: Sequence[str]) -> int:
    """Position of the first argument that has one of the names; -1 if none has."""
    return next((i for i, argument in enumerate(arguments) if argument in names), -1)


def _conditions(graph: Graph, name: str) -> list[Condition]:
    """Predicates and branches of the `cond`s that a node is in, the outermost first.

    Raises:
      InputError: data enter one of these branches by several predicates.
    """
    found = enclosing_conditions(graph, name)
    if any(len(branches) != 1 for branches in found) or (name in graph.branches() and not found):
        raise InputError(f"graph file: {name!r} changes variables in a branch of several conditions at once")
    return [Condition(predicate.name, bool(value)) for ((predicate, value),) in found]


def _before_cond(graph: Graph, tensor: TensorId, conditions: Sequence[Condition]) -> str | None:
    """Name of a tensor as it is before it enters the `cond`s; None if it is computed inside, where nothing reads it."""
    while conditions and graph.type(tensor[0]) in SWITCHES:
        tensor = graph.inputs(tensor[0])[0]
    return None if tensor[0] in graph.branches() else tensor_name(*tensor)
