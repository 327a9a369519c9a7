"""The share of its value that a variable keeps where an assignment moves it towards something else."""

from __future__ import annotations

from typing import Dict, NamedTuple

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.linear_weights import linear_inputs, linear_weights
from legacy.saved.hazards.basics.variable_reads import READS_IN_BRANCHES, variable_read, variables_behind
from workloads.lifted.graph import TWO_WAY_SWITCHES

_ASSIGNS, _ADDS = op_types.SETS, ("AssignAdd", "AssignAddVariableOp")


class Kept(NamedTuple):
    """A linear change of a variable.

    Attributes:
      share: of its old value that it keeps; 0 where it is set to something else.
      weights: {node that the change is a linear function of: its weight in what is assigned, added or subtracted}.
    """

    share: float
    weights: Dict[str, float]


def kept_share(whole: WholeGraph, name: str) -> Kept:
    """Returns the share that a variable keeps.

    Args:
      whole: the graph.
      name: an op of `whole.writes`.

    Returns:
      `Kept`, with a share of 0 and no weights for an op of another kind.
    """
    kind, variable = whole.graph.type(name), whole.writes[name]
    if kind not in _ASSIGNS + op_types.SUBTRACTS + _ADDS:
        return Kept(0.0, {})
    weights = linear_weights(whole, whole.graph.inputs(name)[1].node)
    own = sum(weight for node, weight in weights.items() if _is_value(whole, node, variable))
    share = own if kind in _ASSIGNS else 1 - own if kind in op_types.SUBTRACTS else 1 + own
    return Kept(share, weights)


def keeps_a_share(whole: WholeGraph, name: str) -> bool:
    """Returns whether a variable keeps a share of its value, which may change from step to step, as by a schedule.

    Args:
      whole: the graph.
      name: an op of `whole.writes`.

    Returns:
      Whether what is assigned has a term that is the old value times numbers that follow from no data and no weight.
    """
    if kept_share(whole, name).share:
        return True
    is_set = whole.graph.type(name) in _ASSIGNS
    return is_set and any(_is_value(whole, node, whole.writes[name]) for node in _terms(whole, name))


def followed_variables(whole: WholeGraph, name: str) -> list[str]:
    """Returns the variables that an assignment takes a share of, the one that it changes included.

    Args:
      whole: the graph.
      name: an op of `whole.writes`.

    Returns:
      Those of which what is assigned is a linear function, with factors that follow from no data and no weight.
    """
    return list(filter(None, (variable_read(whole.graph, node) for node in _terms(whole, name))))


def _terms(whole: WholeGraph, name: str) -> list[str]:
    """The nodes that an assigned value is a linear function of, with factors that may change from step to step."""
    inputs = whole.graph.inputs(name)
    todo = [inputs[1].node] if len(inputs) > 1 else []
    seen = dict.fromkeys(todo)
    while todo:
        node = todo.pop()
        before = [one for one, _ in linear_inputs(whole, node)] or _factors(whole, node)
        todo += [one for one in before if one not in seen]
        seen.update(dict.fromkeys(before))
    return list(seen)


def _factors(whole: WholeGraph, name: str) -> list[str]:
    """The factors of a product of which one follows from no data and no weight, as a decay by a schedule."""
    factors = [tensor.node for tensor in whole.graph.inputs(name)] if whole.graph.type(name) == "Mul" else []
    return factors if any(_is_set_by_steps(whole, factor) for factor in factors) else []


def _is_set_by_steps(whole: WholeGraph, name: str) -> bool:
    """Whether a node is computed from constants and from variables of one number, such as a step counter, alone."""
    behind = variables_behind(whole.graph, name)
    return name not in whole.data and all(map(whole.is_scalar, behind)) and not behind & whole.trainable


def most_kept(whole: WholeGraph, name: str) -> float:
    """Returns the largest share that a variable keeps where it grows with the steps up to a constant.

    That is c in v -= (v - x) * (1 - min(c, f(step))), as an `ExponentialMovingAverage` with `num_updates` has it.

    Args:
      whole: the graph.
      name: an op of `whole.writes`.

    Returns:
      The share; 1 where it is not known.
    """
    graph, value = whole.graph, whole.graph.inputs(name)[1].node if len(whole.graph.inputs(name)) > 1 else ""
    if graph.type(name) not in op_types.SUBTRACTS or graph.type(value) != "Mul":
        return 1.0
    factors = [tensor.node for tensor in graph.inputs(value)]
    for factor, other in zip(factors, reversed(factors)):
        terms = [tensor.node for tensor in graph.inputs(factor)] if graph.type(factor) == "Sub" else []
        own = [tensor.node for tensor in graph.inputs(other)[:1]] if graph.type(other) == "Sub" else []
        is_own = any(variable_read(graph, node) == whole.writes[name] for node in own)
        if is_own and terms and whole.value(terms[0]) == 1 and graph.type(terms[1]) == "Minimum":
            numbers = [whole.value(tensor.node) for tensor in graph.inputs(terms[1])]
            return min((number for number in numbers if number is not None), default=1.0)
    return 1.0


def _is_value(whole: WholeGraph, node: str, variable: str) -> bool:
    """Whether a node is where a linear function ends in a variable: itself, or a read of its handle or in a branch."""
    if node == variable:
        return True
    kind = whole.graph.type(node)
    return kind in ("ReadVariableOp", *TWO_WAY_SWITCHES) and variable_read(whole.graph, node, READS_IN_BRANCHES) == (
        variable
    )
