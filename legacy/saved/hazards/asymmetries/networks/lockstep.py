"""Two results that the same ops compute: what they share, and in which variables and data they differ."""

from __future__ import annotations

from typing import NamedTuple, Optional

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId


class Lockstep(NamedTuple):
    """The comparison of two results that the same ops compute.

    Attributes:
      shared: nodes of data and weights that both are computed from, at the same place.
      variables: (variable of the one, variable of the other) where these differ.
      data: (data of the one, data of the other) that no weights have changed, where these differ.
    """

    shared: set[str]
    variables: set[tuple[str, str]]
    data: set[tuple[TensorId, TensorId]]


def lockstep(
    whole: WholeGraph, first: TensorId, second: TensorId, *, second_is_made: bool = False
) -> Optional[Lockstep]:
    """Follows two results back through the ops that compute them.

    Args:
      whole: the graph.
      first: a result of weights and data.
      second: another one.
      second_is_made: whether the second is of examples that another network computes, where the first is of data: the
        ops of that network are not compared.

    Returns:
      What both share and in what they differ; None where other ops compute the one than the other.
    """
    graph, made = whole.graph, made_by_weights(whole)
    found = Lockstep(set(), set(), set())
    todo, seen = [(first, second)], {(first, second)}
    while todo:
        pair = todo.pop()
        one, other = (graph.origin(tensor) for tensor in pair)
        if one == other:
            if one.node in made and one.node in whole.data:
                found.shared.add(one.node)
            continue
        kinds = {graph.type(one.node), graph.type(other.node)}
        if kinds <= set(op_types.VARIABLES):
            found.variables.add((one.node, other.node))
        elif one.node not in made and (second_is_made or other.node not in made):
            if one.node in whole.data and (second_is_made or other.node in whole.data):
                found.data.add((one, other))
        else:
            inputs = [graph.inputs(tensor.node) for tensor in (one, other)]
            if len(kinds) > 1 or one.output != other.output or len(inputs[0]) != len(inputs[1]):
                return None
            further = [each for each in zip(*inputs) if each not in seen]
            seen.update(further)
            todo += further
    return found
