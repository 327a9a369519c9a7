"""Combinations in which one tower alone has a gradient: applied as it is, or joined with terms that no data enters."""

from __future__ import annotations

import numpy as np

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Combine
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that hand a gradient on, perhaps times a number, or that reduce gradients which were joined.
COPIES = ("Identity", "ExpandDims", "Reshape", "Cast", "Mul", "RealDiv", "Div", "Mean", "Sum")
#: Ops that join gradients.
JOINS = (*op_types.ADDITIONS, "Concat", "ConcatV2", "Pack")


def only_tower(combine: Combine) -> int | None:
    """The tower whose gradient alone is in a combined one; None where several towers', or none, are."""
    towers = [tower for tower, names in enumerate(combine.parts) if names]
    return towers[0] if len(towers) == 1 < len(combine.parts) else None


def one_tower_text(analysed: AnalysedStep, combine: Combine) -> str:
    """The words for a combination that has one tower's gradient alone; "" for any other.

    Another tower's penalty gives a gradient that no data enters, and a mean over towers then halves this tower's.
    """
    tower = only_tower(combine)
    if tower is None:
        return ""
    number = analysed.numbers.of(tower)
    if any(_is_joined(analysed, name) for name in combine.parts[tower]):
        return f"kept as written: tower {number}'s, and terms that depend on no data"
    return f"not combined: tower {number}'s alone{_times(analysed, combine, tower)}"


def _times(analysed: AnalysedStep, combine: Combine, tower: int) -> str:
    """The constant that multiplies a tower's gradient before its update, in words; "" for 1 and if none is known."""
    graph, parts = analysed.graph, [parse_tensor_name(name) for name in combine.parts[tower]]
    tensor, factor = parse_tensor_name(combine.tensor), 1.0
    while tensor not in parts:
        kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
        numbers = [analysed.imported.constant(*one) for one in inputs]
        known = [float(number) for number in numbers if number is not None and np.size(number) == 1]
        if kind not in op_types.SCALINGS or len(known) != 1 or (kind != "Mul" and not numbers[1]):
            return ""
        factor *= known[0] if kind == "Mul" else 1 / known[0]
        tensor = inputs[0] if numbers[0] is None else inputs[1]
    return f", times {factor:g}" if factor != 1 else ""


def _is_joined(analysed: AnalysedStep, name: str) -> bool:
    """Whether an op between a tower's derivatives and its part joins them with what is no constant and has no data."""
    graph, data, todo = analysed.graph, analysed.context.data, [parse_tensor_name(name).node]
    while todo:
        node = todo.pop()
        if is_gradient_op(node) or graph.type(node) not in (*COPIES, *JOINS):
            continue
        inputs = [tensor for tensor in graph.inputs(node) if analysed.imported.constant(*tensor) is None]
        if graph.type(node) in JOINS and any(tensor.node not in data for tensor in inputs):
            return True
        todo += [tensor.node for tensor in inputs if tensor.node in data]
    return False
