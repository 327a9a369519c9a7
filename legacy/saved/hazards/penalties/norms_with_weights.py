"""Hazard of a norm by which gradients are clipped that has the weights' squares in it besides the gradients'."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted

#: Ops by which `tf.global_norm` and sums by hand join the squares of several tensors.
_SUMS = ("Pack", *op_types.ADDITIONS)


class NormWithWeights(NamedTuple):
    """A sum of squares of gradients and of weights.

    Attributes:
      op: the node that joins them.
      squares: the nodes of the weights' squares.
      variables: these weights.
    """

    op: str
    squares: tuple[str, ...]
    variables: tuple[str, ...]


@functools.lru_cache(maxsize=2)
def norms_with_weights(whole: WholeGraph) -> list[NormWithWeights]:
    """Returns the sums that join L2 losses of gradients with those of trained weights, outside of what is minimized."""
    graph, found = whole.graph, []
    sums = {name: _squares(graph, name) for name in graph.of_types(*_SUMS) if name not in whole.minimized}
    sums = {name: squares for name, squares in sums.items() if squares}
    backward = graph.descendants(filter(is_gradient_op, graph.nodes), controls=False) if sums else set()
    for name, squares in sums.items():
        weights = {square: _weight(whole, square) for square in squares}
        own = tuple(square for square in squares if weights[square])
        # A pair of a gradient and its variable is one tensor, with the squares of both.
        gradients = [square for square in squares if square in backward]
        if own and gradients:
            found.append(NormWithWeights(name, own, tuple(weights[square] for square in own)))
    return found


def _squares(graph: Graph, name: str) -> list[str]:
    """The L2 losses that a sum adds up."""
    added = [graph.origin(tensor).node for tensor in graph.inputs(name)]
    return [node for node in added if graph.type(node) == "L2Loss"]


def _weight(whole: WholeGraph, square: str) -> str:
    """The trained variable whose squares a node adds up, alone or in a pair with its gradient; "" if it does not."""
    graph = whole.graph
    base = graph.origin(graph.inputs(square)[0]).node
    parts = [tensor.node for tensor in graph.inputs(base)] if graph.type(base) == "Pack" else [base]
    read = [variable_read(graph, part) for part in parts]
    return next((name for name in read if name in whole.trainable), "")


def clipped_by_norms_with_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds norms of weights and gradients on which updates depend, as of `tf.global_norm` of pairs; one for all."""
    for norm in norms_with_weights(whole):
        behind = whole.graph.descendants([norm.op], controls=False)
        has_root = any(whole.graph.type(name) in op_types.ROOTS for name in behind)
        if has_root and norm.op in whole.reach:
            weights = counted(len(norm.variables), "variable")
            yield Hazard(
                "CLIPPED_BY_NORM_OF_WEIGHTS",
                norm.op,
                f"{norm.op} joins the squares of gradients with those of {weights}, such as {norm.variables[0]}: the "
                "gradients are clipped more the larger the weights are",
                "give the norm the gradients alone, as by list(zip(*pairs))[0]; for parity keep it",
            )
            return
