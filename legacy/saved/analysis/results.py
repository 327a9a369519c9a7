"""Combining of all towers' results other than gradients, for an update: a mean of losses or moments, a sum of words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.division.joined_results import Join, find_joins
from legacy.saved.analysis.reduction.multipliers import multiplier_of_mean
from legacy.saved.analysis.reduction.reduction_probe import ReductionProbe
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.plan import Combine

if TYPE_CHECKING:
    from legacy.saved.analysis.phase_parts import PhaseParts

#: Ops whose result has its rows' values, each made of one row.
_BY_ROW = ("Identity", "Cast", "Square", "Sqrt", "Abs", "Exp", "Log", "Neg")
#: Ops that make one of all rows, however many there are.
_REDUCTIONS = ("Mean", "Sum", "Max", "Min", "All", "Any")
#: Relative difference within which a float32 number is one over a count.
_TOLERANCE = 1e-6


class Results(NamedTuple):
    """Results of all towers that updates join.

    Attributes:
      combined: how they are combined, where that holds for any number of towers.
      others: those of which it is not known.
    """

    combined: list[Combine]
    others: list[Join]


def combine_results(
    context: Context, phase: PhaseParts, cutter: Cutter, combine: Sequence[Combine], batch: int | None
) -> Results:
    """Finds how a train op combines results of its towers other than gradients.

    Args:
      context: of the subgraph that a step runs.
      phase: the train op.
      cutter: takes functions out of the graph, for the reduction probe.
      combine: how gradients are combined.
      batch: number of a tower's examples; None if it is open.

    Returns:
      The results.
    """
    nodes = phase.divided.tower_nodes
    probe = ReductionProbe(context.graph, context.imported, cutter, nodes)
    given = (context.graph, phase.divided.crossings, nodes, combine, phase.effects)
    joins = list(find_joins(*given))
    found: dict[str, Combine] = {}
    for join in joins:
        if len(join.parts) == context.towers.count:
            for one in _recognised(probe, join):
                at_any_number = _at_any_number(context, one, batch)
                if at_any_number is not None:
                    found[one.tensor] = at_any_number
    combined = list(found.values())
    return Results(combined, list(find_joins(*given, combined)) if combined else joins)


def _recognised(probe: ReductionProbe, join: Join) -> Iterator[Combine]:
    """Yields the reductions of some results by which they enter updates."""
    parts = [[join.parts[tower]] for tower in sorted(join.parts)]
    seen: set[TensorId] = set()
    for effect in join.updates:
        for target in map(parse_tensor_name, effect.values):
            if target not in seen:
                seen.add(target)
                found = probe.recognise(effect.writes[0], target, parts, None)
                if found.kind != "kept as written":
                    yield found


def _at_any_number(context: Context, combine: Combine, batch: int | None) -> Combine | None:
    """Returns a reduction as replicas of any number make it; None where the graph does not tell.

    What is multiplied by a constant is a mean over all examples if that is one over their number, or a multiple of the
    towers' mean if they are divided by their number besides.
    """
    tensor = parse_tensor_name(combine.tensor)
    if combine.affine:
        return None
    if combine.kind == "concat":
        return combine if combine.scale == 1.0 and _is_reduced(context, tensor) else None
    if not all(_is_static(context, one) for one in [tensor, *map(parse_tensor_name, combine.parts[0])]):
        return None
    if combine.kind == "mean":
        return combine if context.imported.dtype(*tensor).startswith("float") else None
    if combine.scale == 1.0:
        return combine
    towers = len(combine.parts)
    is_mean = abs(combine.scale * towers * (batch or 0) - 1) < _TOLERANCE
    is_mean = is_mean or multiplier_of_mean(context.graph, context.imported, combine, towers) is not None
    return dataclasses.replace(combine, divided=True) if is_mean else None


def _is_static(context: Context, tensor: TensorId) -> bool:
    shape = context.imported.shape(*tensor)
    return shape is not None and None not in shape


def _is_reduced(context: Context, rows: TensorId) -> bool:
    """Returns whether nothing but means, sums and the like of all rows is made of some, by ops of each row alone.

    A sum that is divided by a constant may be a mean over the rows of the graph's own towers.
    """
    graph, todo = context.graph, [rows]
    while todo:
        tensor = todo.pop()
        for use in graph.users(tensor.node):
            kind = graph.type(use.node)
            if kind in _REDUCTIONS and use.output == tensor.output:
                axes = context.imported.constant(*graph.inputs(use.node)[1])
                if axes is None or 0 not in np.ravel(axes) or (kind == "Sum" and _is_scaled(context, use.node)):
                    return False
            elif kind not in _BY_ROW:
                return False
            else:
                todo.append(TensorId(use.node, 0))
    return True


def _is_scaled(context: Context, name: str) -> bool:
    """Returns whether a constant multiplies or divides a node's result."""
    users = {use.node for use in context.graph.users(name)}
    scaling = [user for user in users if context.graph.type(user) in op_types.SCALINGS]
    others = [tensor for user in scaling for tensor in context.graph.inputs(user) if tensor.node != name]
    return any(context.imported.constant(*tensor) is not None for tensor in others)
