"""Hazard of a sequence that is reversed along the examples for a backward RNN, and not along the times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import join_of
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variables_behind
from workloads.lifted.tensors.gradient_names import is_gradient_op


def examples_turned(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds data that are reversed along the dimension that an RNN's loop does not run along; one hazard for all.

    A loop runs along the first dimension of what enters it; `dynamic_rnn` exchanges the first two before that. Some
    results are joined with those of the data in their own order, as of the two RNNs of a bidirectional one: reversed
    examples alone may be partners of the others, such as negatives.
    """
    for name in [name for name in whole.minimized_ops("ReverseV2", "Reverse") if not is_gradient_op(name)]:
        if turns_examples(whole, name) and _is_joined(whole, name):
            yield Hazard(
                "REVERSED_ALONG_EXAMPLES",
                name,
                f"{name} reverses the examples of a batch, along axis {_axes(whole, name)[0]}, for an RNN that runs "
                "along the other one: each example gets the sequence of another one, none read backwards",
                "reverse along the times; for parity keep it",
            )
            return


def turns_examples(whole: WholeGraph, name: str) -> bool:
    """Returns whether an op reverses a sequence along its examples before a loop takes it."""
    axes = _axes(whole, name) if whole.graph.type(name) in op_types.TURNS else []
    return axes in ([0], [1]) and _dimensions_of_examples(whole, name) == set(axes)


def _is_joined(whole: WholeGraph, name: str) -> bool:
    """Whether units of reversed data are joined with units of the same data as they are, of other weights."""
    graph, source = whole.graph, whole.graph.inputs(name)[0].node
    turned, after = (graph.descendants([one], controls=False) for one in (name, source))
    for join in filter(None, (join_of(graph, one) for one in sorted(turned & whole.minimized))):
        parts = [part.node for part in join.parts]
        reverse = [part for part in parts if part in turned]
        own = [part for part in parts if part in after and part not in turned]
        if reverse and own and whole.value(join.axis.node) not in (0, None):
            weights = [variables_behind(graph, one) - variables_behind(graph, source) for one in (reverse[0], own[0])]
            if weights[0] - weights[1]:
                return True
    return False


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
