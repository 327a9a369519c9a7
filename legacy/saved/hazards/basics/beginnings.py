"""Beginnings of variables: the constants that their own initializers set them to."""

from __future__ import annotations

import numpy as np

from legacy.saved.analysis.initializers import find_initializer
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.variable_reads import variable_sizes
from workloads.lifted.plan.initializers import CONSTANT


def begins_with_zeros(whole: WholeGraph, variable: str) -> bool:
    """Returns whether a variable's own initializer sets it to zeros."""
    return first_value(whole, variable) == 0


def first_value(whole: WholeGraph, variable: str) -> float | None:
    """Returns the number that a variable's own initializer sets all of it to; None where it is not one constant."""
    found = find_initializer(whole.graph, variable, variable_sizes(whole.graph, variable))
    number = np.asarray(found.numbers[0]) if found is not None and found.kind == CONSTANT else None
    return float(number) if number is not None and number.dtype.kind in "biuf" else None
