"""Gradient checkpoints: tensors from which a program computes its forward pass again, on the way back.

`memory_saving_gradients` (2018) and its like cut the graph at some tensors by `tf.stop_gradient`, copy the ops between
them, differentiate the copies one part after the other, and have them wait for the part before by control edges. The
gradient is that of the model, although each cut stops it.
"""

from __future__ import annotations

import collections
from typing import Dict, Hashable, List

from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import forward_name, gradient_nodes
from workloads.support.wording import FEW, counted, listed

_CUT = "StopGradient"


def checkpoints(graph: Graph) -> List[str]:
    """Finds the cuts behind which copies of ops are differentiated, and in front of which copies are, too.

    Args:
      graph: the graph.

    Returns:
      Names of ops `StopGradient`: what takes one is a copy of what takes its input, and its input is computed twice,
      where the gradient goes on.
    """
    cuts = {name: None for name in graph.of_types(_CUT)}
    if not cuts:
        return []
    values = _values(graph)
    copies: Dict[Hashable, List[str]] = collections.defaultdict(list)
    for name in [name for name in values if name not in cuts]:
        copies[values[name]].append(name)
    found = []
    for name in cuts:
        (taken,) = graph.inputs(name)
        others = {values[use.node] for use in graph.users(taken.node) if use.node != name and use.node in values}
        behind = [use.node for use in graph.users(name) if values.get(use.node) in others]
        again = [one for one in copies[values[taken.node]] if one != taken.node]
        if behind and again and _are_differentiated_on(graph, behind, again):
            found.append(name)
    return found


def _are_differentiated_on(graph: Graph, behind: List[str], again: List[str]) -> bool:
    """Returns whether a gradient of one of some ops is made from what follows of others."""
    reached = graph.descendants(behind, controls=False)
    of_gradients = [name for name in gradient_nodes(graph) if name in reached]
    return any(forward_name(name, graph.nodes) in again for name in of_gradients)


def checkpoint_sentences(graph: Graph) -> List[str]:
    """Returns a sentence on the gradient checkpoints of a graph, if it has some."""
    cuts = checkpoints(graph)
    if not cuts:
        return []
    tensors = listed([str(graph.inputs(name)[0].node) for name in cuts], FEW)
    return [
        f"the gradient computes the forward pass again from {counted(len(cuts), 'checkpoint', 'checkpoints')} "
        f"({tensors}), to save memory: the numbers are those of the plain gradient; tf.recompute_grad does so in a port"
    ]


def _values(graph: Graph) -> Dict[str, Hashable]:
    """Returns {op: number of its value}: ops of one type, with the same constants and the same inputs, have one.

    Random numbers and what has no inputs are by themselves; a cut has the value of what it takes.
    """
    numbers: Dict[Hashable, int] = {}
    found: Dict[str, Hashable] = {}
    for name in graph.order(set(graph.nodes)):
        node, inputs = graph.nodes[name], graph.inputs(name)
        taken = tuple((found.get(tensor.node, tensor.node), tensor.output) for tensor in inputs)
        if node.op == _CUT:
            found[name] = taken[0][0]
            continue
        constants = tuple(sorted((key, one.SerializeToString()) for key, one in node.attr.items() if key[0] != "_"))
        own = not inputs or "seed" in node.attr
        form: Hashable = name if own else (node.op, constants, taken)
        found[name] = numbers.setdefault(form, len(numbers))
    return found
