"""Constant exponents of a graph: whole ones stay whole, since a power of a negative number is NaN for any other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: The change of a whole exponent, which leaves an even one even.
STEP = 2


def is_whole_exponent(graph: Graph, nodes: Iterable[str], value: np.ndarray) -> bool:
    """Tells whether a float constant is a whole number, and nothing but the exponent of powers.

    Args:
      graph: the graph.
      nodes: the constant's nodes.
      value: its value.

    Returns:
      Whether each use of it other than in derivatives, which take the exponent less 1, is as an exponent.
    """
    found = [use for node in nodes for use in graph.users(node) if not is_gradient_op(use.node)]
    uses = [(graph.type(use.node), use.position) for use in found]
    is_whole = value.dtype.kind == "f" and value.size == 1 and bool(np.all(value == np.round(value)))
    return is_whole and bool(uses) and set(uses) == {("Pow", 1)}
