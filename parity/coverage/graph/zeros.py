"""Nodes of a graph that are zero for all data: values that are only multiplied by them have no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workloads.lifted.graph import Graph

#: {op type: positions of the inputs of which one zero makes the result zero}; None for all.
_KEEPS_ZERO: dict[str, tuple[int, ...] | None] = {
    "Mul": None,
    "MatMul": None,
    "Identity": (0,),
    "Neg": (0,),
    "Cast": (0,),
    "Reshape": (0,),
    "Sum": (0,),
    "Mean": (0,),
    "Tile": (0,),
    "BroadcastTo": (0,),
    "Transpose": (0,),
    "BiasAddGrad": (0,),
    "SigmoidGrad": (1,),
    "TanhGrad": (1,),
}


def find_zeros(graph: Graph, names: Iterable[str], is_zero: Callable[[str], bool]) -> set[str]:
    """Finds the nodes that are zero by the constants among their inputs.

    Args:
      graph: the graph.
      names: of the nodes to look at.
      is_zero: tells whether a node is made of constants alone that make it zero.

    Returns:
      their names.
    """
    todo = [name for name in names if is_zero(name)]
    zeros = set(todo)
    while todo:
        for use in graph.users(todo.pop()):
            positions = _KEEPS_ZERO.get(graph.type(use.node), ())
            if use.node not in zeros and (positions is None or use.position in positions):
                zeros.add(use.node)
                todo.append(use.node)
    return zeros


def reaches(graph: Graph, starts: Iterable[str], ends: set[str], zeros: set[str]) -> bool:
    """Tells whether data flow from some nodes to others other than through zeros.

    Args:
      graph: the graph.
      starts: names of the nodes from which data flow.
      ends: names of the nodes that they may reach.
      zeros: names of the nodes that are zero whatever flows into them.

    Returns:
      whether any of `ends` is reached.
    """
    todo = list(starts)
    seen = set(todo)
    while todo:
        name = todo.pop()
        if name in ends:
            return True
        following = {use.node for use in graph.users(name)} - seen - zeros
        seen |= following
        todo.extend(following)
    return False
