"""Hazards of towers whose means are averaged, and are of different numbers of examples, or of words."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import QUOTIENTS
from workloads.lifted.graph import parse_tensor_name

#: Relative difference within which a scale is one over the number of towers.
TOLERANCE = 1e-5


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
        sizes = [shape[0] for shape in shapes if shape and shape[0] is not None]
        if len(sizes) == plan.towers and len(set(sizes)) > 1 and len({tuple(s[1:]) for s in shapes if s}) == 1:
            yield Hazard(
                "PARTS_OF_UNEQUAL_SIZE",
                parse_tensor_name(entry.tensors[0]).node,
                f"{listed_towers(list(range(plan.towers)))} take {', '.join(map(str, sizes))} rows of {entry.name}, "
                "and the gradients of their means are averaged: an example of a smaller part counts more",
                "weigh each replica by its number of examples; for parity, deal the rows so",
            )
            return


def means_of_unequal_counts(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds losses that towers divide by numbers of their own data, such as of words, and whose gradients are averaged.

    A number that weights are in is none, such as a term of an overlap; nor is one that no tower computes.
    """
    graph, count = whole.graph, found.plan.towers
    sizes = {name for name in graph.nodes if graph.type(name) in op_types.SHAPE_OPS}
    for phase in found.plan.phases if count > 1 else []:
        averaged = [one for one in phase.combine if one.kind == "mean" or abs(one.scale * count - 1) < TOLERANCE]
        loss = next((parse_tensor_name(name).node for name in phase.losses[:1]), "")
        for name in linear_signs(whole, loss) if averaged and loss in graph.nodes else []:
            quotient = _quotient(whole, name)
            if graph.type(quotient) not in QUOTIENTS:
                continue
            divisor = graph.origin(graph.inputs(quotient)[1]).node
            before = graph.ancestors([divisor], stop=sizes, controls=False) - sizes
            counted = [node for node in before if op_types.is_source(graph.type(node)) and node in whole.data]
            if counted and not before & whole.trainable and divisor in whole.labels:
                yield Hazard(
                    "MEANS_OF_UNEQUAL_COUNTS",
                    quotient,
                    f"each tower divides its loss by {divisor}, which {sorted(counted)[0]} gives, such as a number of "
                    "words, and the towers' gradients are averaged: what is in a tower with a smaller number counts "
                    "more, and another number of towers makes another loss of a batch",
                    "divide each replica's sum by the mean of all replicas' numbers; for parity average the means",
                )
                return


def _quotient(whole: WholeGraph, name: str) -> str:
    """The node itself, or what it chooses where a number is not 0, as `tf.losses` of 1.4 does."""
    if whole.graph.type(name) in ("Select", "SelectV2"):
        return whole.graph.origin(whole.graph.inputs(name)[1]).node
    return name


def _is_mean(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a mean, or a sum that is divided by a sum, as `tf.losses` counts the examples."""
    kind, name = whole.graph.type(name), _quotient(whole, name)
    if whole.graph.type(name) not in QUOTIENTS:
        return kind == "Mean"
    total, number = (whole.graph.origin(tensor).node for tensor in whole.graph.inputs(name))
    return whole.graph.type(total) == "Sum" and whole.value(number) is None
