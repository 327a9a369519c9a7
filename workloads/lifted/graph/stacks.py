"""Stacks of a 1.x graph: they hand what each iteration of a loop computed to the loop of its gradient.

A push and a pop of one stack share its handle and no tensor, so that no edge says that data go from one to the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workloads.lifted.graph.tensor_names import TensorId

PUSHES = ("StackPush", "StackPushV2")
POPS = ("StackPop", "StackPopV2")
_STACKS = ("Stack", "StackV2")


def pops_of_pushes(types: Mapping[str, str], inputs: Mapping[str, Sequence[TensorId]]) -> Dict[str, List[str]]:
    """Finds the nodes that take from a stack what a node puts there.

    Args:
      types: {node: op type}.
      inputs: {node: its data inputs}.

    Returns:
      {push: pops of the same stack}; of equal values, the same list.
    """
    ends: Dict[str, List[str]] = {}
    pushes: Dict[str, str] = {}
    for name, kind in types.items():
        if kind in PUSHES + POPS:
            stack, seen = inputs[name][0].node, {name}
            while types.get(stack, "") not in _STACKS and inputs.get(stack) and stack not in seen:
                seen.add(stack)  # the handle enters loops and branches
                stack = inputs[stack][0].node
            if kind in PUSHES:
                pushes[name] = stack
            else:
                ends.setdefault(stack, []).append(name)
    return {name: ends[stack] for name, stack in pushes.items() if stack in ends}


def reversed_edges(edges: Mapping[str, Sequence[str]]) -> Dict[str, List[str]]:
    """Returns {node: the nodes that it is listed for}.

    >>> reversed_edges({"a": ["c", "d"], "b": ["d"]})
    {'c': ['a'], 'd': ['a', 'b']}
    """
    found: Dict[str, List[str]] = {}
    for name, others in edges.items():
        for other in others:
            found.setdefault(other, []).append(name)
    return found
