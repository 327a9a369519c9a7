"""Returns of reinforcement learning: rewards of data plus discounted values of later states."""

from __future__ import annotations

from typing import NamedTuple, Optional

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.reinforcement.targets import LEAST_DISCOUNT

#: Ops that compare a value with a return, and ops that hand values on.
COPIES = ("Identity", "Reshape", "Squeeze", "ExpandDims", "StopGradient")


class Return(NamedTuple):
    """The two terms of a return.

    Attributes:
      reward: the node of data.
      factors: the nodes that are multiplied to the discounted value, the products of them included.
    """

    reward: str
    factors: list[str]


def terms_of_return(whole: WholeGraph, name: str) -> Optional[Return]:
    """Returns the terms of a node that adds a reward of data and a discounted result of weights; None of any other."""
    graph = whole.graph
    while graph.type(name) in COPIES:
        name = graph.inputs(name)[0].node
    terms = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) in op_types.ADDITIONS else []
    computed = [term for term in terms if has_variables(whole, term)]  # of a target network, which nothing trains
    given = [term for term in terms if term not in computed and term in whole.data]
    if len(computed) != 1 or len(given) != 1:
        return None
    factors = _factors(whole, computed[0])
    scaled = [constant_factor(whole, factor) for factor in factors if graph.type(factor) == "Mul"]
    is_discounted = any(one is not None and LEAST_DISCOUNT <= one[1] < 1 for one in scaled)
    return Return(given[0], factors) if is_discounted else None


def has_variables(whole: WholeGraph, name: str) -> bool:
    """Returns whether a node is computed from variables, also from those that nothing trains."""
    return any(whole.graph.type(node) in op_types.VARIABLES for node in whole.graph.ancestors([name], controls=False))


def _factors(whole: WholeGraph, name: str) -> list[str]:
    """A node and the factors of it, however the products are nested."""
    todo, found = [name], []
    while todo:
        name = todo.pop()
        found.append(name)
        if whole.graph.type(name) in ("Mul", *COPIES):
            todo += [tensor.node for tensor in whole.graph.inputs(name)[: 2 if whole.graph.type(name) == "Mul" else 1]]
    return found
