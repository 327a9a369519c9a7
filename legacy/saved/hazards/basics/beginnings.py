"""Beginnings of variables: whether their own initializers set them to zeros."""

from __future__ import annotations

import numpy as np

from legacy.saved.analysis.initializers import find_initializer
from legacy.saved.facts.basics.whole_graph import WholeGraph
from workloads.lifted.plan.initializers import CONSTANT


def begins_with_zeros(whole: WholeGraph, variable: str) -> bool:
    """Returns whether a variable's own initializer sets it to zeros."""
    shape = [size.size for size in whole.graph.nodes[variable].attr["shape"].shape.dim]
    found = find_initializer(whole.graph, variable, shape)
    return found is not None and found.kind == CONSTANT and not np.any(found.numbers[0])
