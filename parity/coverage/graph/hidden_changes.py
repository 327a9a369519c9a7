"""Changes of constants that no data can show: multiplied by zero, replaced later, or hidden by other constants."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from parity.coverage.graph.constant_parts import ConstantParts
from parity.coverage.graph.overwritten import find_overwritten
from parity.coverage.graph.zeros import find_zeros, reaches
from workloads.lifted.graph import Graph, parse_tensor_name


class HiddenChanges:
    """Tells why a change of constants cannot matter.

    Args:
      graph: index of the graph.
      parts: its parts that are made of constants alone.
      run: nodes that a step runs.
      ends: nodes whose values are compared, or change what is compared.
    """

    def __init__(self, graph: Graph, parts: ConstantParts, run: set[str], ends: set[str]) -> None:
        self._graph, self._parts, self._run, self._ends = graph, parts, run, ends

    def why(self, changed: Mapping[str, np.ndarray]) -> str:
        """Returns the reason why a change, {tensor name: value}, cannot matter; "" if it may."""
        if not all(np.isfinite(value).all() for value in changed.values()):
            return "infinite or NaN: a multiple of it is the same number"
        nodes = {parse_tensor_name(name).node for name in changed}
        if not reaches(self._graph, nodes, self._ends, self._zeros):
            return "it is only multiplied by zero"
        if not reaches(self._graph, nodes, self._ends - self._overwritten, set()):
            return "a later assignment of the same step replaces what it changes"
        frontiers = [self._parts.frontier(node) for node in nodes]
        if not all(frontiers):
            return ""
        names = sorted(set().union(*frontiers))
        before, after = (self._parts.values(names, replaced) for replaced in ({}, changed))
        same = all(np.array_equal(a, b) for a, b in zip(before, after))
        return "other constants hide the change, whatever the data" if same else ""

    @functools.cached_property
    def _overwritten(self) -> set[str]:
        return find_overwritten(self._graph, self._run)

    @functools.cached_property
    def _zeros(self) -> set[str]:
        return find_zeros(self._graph, self._run, self._parts.is_zero_factor)
