"""Constants by which a program multiplies the mean of its towers' gradients, such as a layer's factor on the rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name

if TYPE_CHECKING:
    from legacy.saved.graph.imported import ImportedGraph
    from workloads.lifted.plan import Combine

#: Relative difference within which a factor is one over the number of towers, and a product the whole scale.
TOLERANCE = 1e-5
#: Ops that hand a gradient on, and those that may add a term which no tower computes.
_COPIES = ("Identity", "Cast", *op_types.VIEWS)
_SUMS = (*op_types.ADDITIONS, "Sub")


def multiplier_of_mean(graph: Graph, imported: ImportedGraph, combine: Combine, towers: int) -> float | None:
    """Returns c where a program computes c times the mean of its towers' gradients.

    A sum of two towers' gradients that is divided by 20 is a mean times 0.1 where the graph divides by 2 and multiplies
    by 0.1, and a sum divided by another number where it divides by 20.

    Args:
      graph: the cut graph.
      imported: the same graph in TensorFlow.
      combine: how the gradients are combined.
      towers: number of towers.

    Returns:
      The constant; None where the gradient is the mean itself, or no step of its computation is one.
    """
    if combine.kind != "sum" or towers < 2:
        return None
    factors = _factors(graph, imported, combine, towers)
    is_whole = abs(float(np.prod(factors)) - combine.scale) <= TOLERANCE * abs(combine.scale)
    has_mean = any(abs(factor * towers - 1) <= TOLERANCE for factor in factors)
    return combine.scale * towers if has_mean and is_whole else None


def factor_behind_rows(graph: Graph, imported: ImportedGraph, combine: Combine, gradient: str) -> float:
    """Returns the constant by which joined rows are multiplied behind the op that adds up equal ones.

    Args:
      graph: the cut graph.
      imported: the same graph in TensorFlow.
      combine: of kind "concat".
      gradient: the tensor that the update takes.

    Returns:
      The constant; 1 where there is none, or what is done to the rows is something else.
    """
    name, end, factor = parse_tensor_name(gradient).node, parse_tensor_name(combine.tensor).node, 1.0
    while name != end:
        kind, inputs = graph.type(name), graph.inputs(name)
        numbers = [_number(imported, tensor) for tensor in inputs] if kind in ("Mul", "RealDiv", "Div") else []
        if kind in (*_COPIES, "UnsortedSegmentSum"):
            name = inputs[0].node
        elif len(numbers) == 2 and numbers[1] and numbers[0] is None:
            factor *= numbers[1] if kind == "Mul" else 1.0 / numbers[1]
            name = inputs[0].node
        elif len(numbers) == 2 and kind == "Mul" and numbers[0]:
            factor *= numbers[0]
            name = inputs[1].node
        else:
            return 1.0
    return factor


def _factors(graph: Graph, imported: ImportedGraph, combine: Combine, towers: int) -> list[float]:
    """The factors on the sum of the towers' gradients, the last one first."""
    parts = {parse_tensor_name(name).node for tower in combine.parts for name in tower}
    behind = graph.descendants(parts, controls=False)
    factors: list[float] = []
    name = parse_tensor_name(combine.tensor).node
    while name not in parts:
        kind, inputs = graph.type(name), graph.inputs(name)
        own = [place for place, tensor in enumerate(inputs) if tensor.node in behind]
        if kind == "Mean":
            return [*factors, 1.0 / towers]
        if len(own) != 1:
            break
        if kind in ("Mul", "RealDiv", "Div") and len(inputs) == 2:
            number = _number(imported, inputs[1 - own[0]])
            if not number or (kind != "Mul" and own[0]):
                break
            factors.append(number if kind == "Mul" else 1.0 / number)
        elif kind == "Neg" or (kind == "Sub" and own[0]):
            factors.append(-1.0)
        elif kind not in (*_COPIES, *_SUMS):
            break
        name = inputs[own[0]].node
    return factors


def _number(imported: ImportedGraph, tensor: TensorId) -> float | None:
    constant = imported.constant(*tensor)
    return float(constant) if constant is not None and np.ndim(constant) == 0 else None
