"""Hazard of a sequence that is reversed along the examples for a backward RNN, and not along the times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op


def examples_turned(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds data that are reversed along the dimension that an RNN's loop does not run along; one hazard for all.

    A loop runs along the first dimension of what enters it; `dynamic_rnn` exchanges the first two before that.
    """
    for name in [name for name in whole.minimized_ops("ReverseV2", "Reverse") if not is_gradient_op(name)]:
        if turns_examples(whole, name):
            yield Hazard(
                "REVERSED_ALONG_EXAMPLES",
                name,
                f"{name} reverses the examples of a batch, along axis {_axes(whole, name)[0]}, for an RNN that runs "
                "along the other one: each example gets the sequence of another, in the order of a forward RNN",
                "reverse along the times; for parity keep it",
            )
            return


def turns_examples(whole: WholeGraph, name: str) -> bool:
    """Returns whether an op reverses a sequence along its examples before a loop takes it."""
    axes = _axes(whole, name) if whole.graph.type(name) in ("ReverseV2", "Reverse") else []
    return axes in ([0], [1]) and _dimensions_of_examples(whole, name) == set(axes)


def _axes(whole: WholeGraph, name: str) -> list[int]:
    """The dimensions that an op reverses; graphs of TensorFlow 0.x have a truth for each."""
    node = whole.graph.nodes[whole.graph.origin(whole.graph.inputs(name)[1]).node]
    if node.op != "Const":
        return []
    given = np.ravel(tf.make_ndarray(node.attr["value"].tensor))
    return [int(axis) for axis in (np.flatnonzero(given) if given.dtype == bool else given)]


def _dimensions_of_examples(whole: WholeGraph, name: str) -> set[int]:
    """The dimension of the examples, 1 where a sequence enters loops as it is, and 0 where it is transposed first."""
    graph, todo, found = whole.graph, [(name, 1)], set()
    while todo:
        node, place = todo.pop()
        for use in [use for use in graph.users(node) if use.node in whole.minimized and not is_gradient_op(use.node)]:
            if graph.type(use.node).startswith("TensorArrayScatter"):
                found.add(place)
            elif graph.type(use.node) == "Transpose" and use.position == 0 and place:
                todo.append((use.node, 0))
            elif graph.type(use.node) == "Identity":
                todo.append((use.node, place))
    return found
