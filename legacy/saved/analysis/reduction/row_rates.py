"""Rows of all towers before the learning rate by which an update without a rate of its own multiplies them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Combine, Effect

if TYPE_CHECKING:
    from legacy.saved.graph.imported import ImportedGraph


def before_rates(
    graph: Graph, imported: ImportedGraph, combine: Sequence[Combine], effects: Sequence[Effect]
) -> list[Combine]:
    """Returns how gradients are combined, joined rows as they are before the rate that a `Scatter` op takes them times.

    The rate is no part of the combining: rows that are divided by two towers and multiplied by 0.1 are a mean, and rows
    that are multiplied by a rate of 0.5 are none.

    Args:
      graph: the cut graph.
      imported: the same graph in TensorFlow.
      combine: how the gradients of each variable are combined.
      effects: the updates.

    Returns:
      The same for all others.
    """
    added = {value for effect in effects if not op_types.is_apply(effect.op) for value in effect.values}
    return [_before_rate(graph, imported, one, added) for one in combine]


def _before_rate(graph: Graph, imported: ImportedGraph, combine: Combine, added: Collection[str]) -> Combine:
    """Returns the rows before the last product with a constant that gives what an update adds or subtracts."""
    name = parse_tensor_name(combine.tensor).node
    if combine.kind != "concat" or combine.tensor not in added or graph.type(name) != "Mul":
        return combine
    rows, rate = graph.inputs(name)
    constant = imported.constant(*rate)
    if constant is None or np.ndim(constant) or not constant:
        return combine
    scale = combine.scale / float(constant)
    whole = round(scale)
    scale = float(whole) if abs(scale - whole) < 1e-6 else float(np.round(scale, 9))
    return dataclasses.replace(combine, tensor=rows.name, scale=scale)
