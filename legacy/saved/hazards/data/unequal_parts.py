"""Hazard of towers whose means are averaged, and are of different numbers of examples."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.inputs.rows_used import rows_used
from workloads.lifted.graph import parse_tensor_name


def unequal_parts(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds batches that are dealt in parts of different sizes, to towers whose losses are means over examples."""
    plan, imported = found.plan, found.context.imported
    averaged = any(entry.kind == "mean" for phase in plan.phases for entry in phase.combine)
    losses = [parse_tensor_name(loss).node for phase in plan.phases for loss in phase.losses[:1]]
    names = [name for loss in losses if loss in whole.graph.nodes for name in linear_signs(whole, loss)]
    if plan.towers < 2 or not averaged or not any(_is_mean(whole, name) for name in names):
        return
    for entry in plan.inputs:
        shapes = [imported.shape(*parse_tensor_name(tensor)) for tensor in entry.tensors]
        used = [rows_used(found.cut.graph, imported, parse_tensor_name(tensor)) for tensor in entry.tensors]
        sizes = [rows for rows in used if rows is not None]
        if len(sizes) == plan.towers and len(set(sizes)) > 1 and len({tuple(s[1:]) for s in shapes if s}) == 1:
            yield Hazard(
                "PARTS_OF_UNEQUAL_SIZE",
                parse_tensor_name(entry.tensors[0]).node,
                f"{listed_towers(list(range(plan.towers)))} take {', '.join(map(str, sizes))} rows of {entry.name}, "
                "and the gradients of their means are averaged: an example of a smaller part counts more",
                "weight each replica by its number of examples; for parity, divide the rows so",
            )
            return


def _quotient(whole: WholeGraph, name: str) -> str:
    """The node itself, or what it chooses where a number is not 0, as `tf.losses` of 1.4 does."""
    if whole.graph.type(name) in op_types.CHOICES:
        return whole.graph.origin(whole.graph.inputs(name)[1]).node
    return name


def _is_mean(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a mean, or a sum that is divided by a sum, as `tf.losses` counts the examples."""
    kind, name = whole.graph.type(name), _quotient(whole, name)
    if whole.graph.type(name) not in op_types.QUOTIENTS:
        return kind == "Mean"
    total, number = (whole.graph.origin(tensor).node for tensor in whole.graph.inputs(name))
    return whole.graph.type(total) == "Sum" and whole.value(number) is None
