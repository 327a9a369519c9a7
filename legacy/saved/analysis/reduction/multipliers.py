"""Constants by which a program multiplies the mean of its towers' gradients, such as a layer's factor on the rate."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name

if TYPE_CHECKING:
    from legacy.saved.graph.imported import ImportedGraph
    from workloads.lifted.plan import Combine, Effect, Phase

#: Relative difference within which a factor is one over the number of towers, and a product the whole scale.
TOLERANCE = 1e-5
#: Ops that hand a gradient on, and those that may add a term which no tower computes.
_COPIES = ("Identity", "Cast", *op_types.VIEWS)
_SUMS = (*op_types.ADDITIONS, "Sub")


class Factor(NamedTuple):
    """A constant factor on gradients.

    Attributes:
      node: the op that multiplies or divides.
      value: of the factor.
    """

    node: str
    value: float


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
    is_mean = abs(combine.scale * towers - 1) <= TOLERANCE
    if combine.kind != "sum" or towers < 2 or is_mean:
        return None
    factors = [factor.value for factor in factors_on_sum(graph, imported, combine, towers)]
    is_whole = abs(float(np.prod(factors)) - combine.scale) <= TOLERANCE * abs(combine.scale)
    has_mean = any(abs(factor * towers - 1) <= TOLERANCE for factor in factors)
    return combine.scale * towers if has_mean and is_whole else None


def with_multiples_of_means(
    graph: Graph, imported: ImportedGraph, combine: Sequence[Combine], towers: int
) -> list[Combine]:
    """Returns how gradients are combined; sums that are multiples of a mean are such at any number of replicas.

    Args:
      graph: the cut graph.
      imported: the same graph in TensorFlow.
      combine: how the gradients of each variable are combined.
      towers: number of towers.

    Returns:
      The same; where all gradients are the mean times the number of towers, they stay sums.
    """
    multipliers = [multiplier_of_mean(graph, imported, one, towers) for one in combine]
    if all(number is not None and abs(number / towers - 1) <= TOLERANCE for number in multipliers):
        return list(combine)
    return [
        one if number is None else dataclasses.replace(one, divided=True) for one, number in zip(combine, multipliers)
    ]


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
    start, end = parse_tensor_name(gradient).node, parse_tensor_name(combine.tensor).node
    factors, reached = _factors(graph, imported, start, {end}, (*_COPIES, "UnsortedSegmentSum"))
    return float(np.prod([factor.value for factor in factors])) if reached == end else 1.0


def gradient_of_moments(graph: Graph, imported: ImportedGraph, phase: Phase, effect: Effect) -> str:
    """Returns the tensor of rows that an Adam of rows takes for the gradient, times a share, into a moment.

    Args:
      graph: the cut graph.
      imported: the same graph in TensorFlow.
      phase: the train op.
      effect: the update of a weight, or of one of its moments.

    Returns:
      Its name; "" where the update adds no rows to moments.
    """
    before = graph.ancestors([effect.node])
    for other in phase.effects:
        if "ScatterAdd" in other.op and other.node in before:
            value = graph.inputs(other.node)[2].node
            factors = graph.inputs(value) if graph.type(value) == "Mul" else []
            rows = [factor for factor in factors if imported.shape(*factor) != ()]  # the other is the share, a number
            is_square = rows and graph.type(rows[0].node) in ("Mul", "Square")
            if len(rows) == 1 < len(factors) and not is_square:
                return rows[0].name
    return ""


def constants_behind(graph: Graph, imported: ImportedGraph, combine: Combine, end: str) -> float:
    """Returns the product of the constants that multiply a combined gradient behind or between other scalars.

    Such is 1/2 of `w - rate * (g0 + g1) / 2`, whose rate is no constant.

    Args:
      graph: the cut graph.
      imported: the same graph in TensorFlow.
      combine: how the gradients are combined.
      end: the tensor that an update takes.

    Returns:
      The product; 1 where the gradient goes another way than by products, quotients and copies.
    """
    start, name, product = parse_tensor_name(combine.tensor).node, parse_tensor_name(end).node, 1.0
    behind = graph.descendants([start], controls=False)
    while name != start:
        kind, inputs = graph.type(name), graph.inputs(name)
        own = [place for place, tensor in enumerate(inputs) if tensor.node in behind]
        if len(own) != 1 or kind not in ("Mul", "RealDiv", "Div", "Sub", "Neg", *_COPIES):
            return 1.0
        if kind in ("Mul", "RealDiv", "Div"):
            other = inputs[1 - own[0]]
            if imported.shape(*other) != () or (kind != "Mul" and own[0]):
                return 1.0
            number = _number(imported, other) or 1.0
            product *= number if kind == "Mul" else 1.0 / number
        name = inputs[own[0]].node
    return product


def factors_on_sum(graph: Graph, imported: ImportedGraph, combine: Combine, towers: int) -> list[Factor]:
    """Returns the constant factors on the sum of the towers' gradients, as far as they are known, the last one first.

    Args:
      graph: the cut graph.
      imported: the same graph in TensorFlow.
      combine: how the gradients are combined.
      towers: number of towers.

    Returns:
      The factors, also those that each tower's gradient has alike before the sum.
    """
    parts = {parse_tensor_name(name).node for tower in combine.parts for name in tower}
    return _factors_of_parts(graph, imported, parse_tensor_name(combine.tensor).node, parts, towers)


def _factors_of_parts(
    graph: Graph, imported: ImportedGraph, name: str, parts: Collection[str], towers: int
) -> list[Factor]:
    """The factors behind a node, on through a sum or a mean where they are alike in all of its terms.

    Args:
      graph: the cut graph.
      imported: the same graph in TensorFlow.
      name: of the node.
      parts: nodes of the towers' gradients.
      towers: number of towers.
    """
    factors, reached = _factors(graph, imported, name, parts, (*_COPIES, *_SUMS, "Neg"))
    if graph.type(reached) == "Mean" and reached not in parts:
        factors.append(Factor(reached, 1.0 / towers))
        reached = graph.inputs(reached)[0].node
    if graph.type(reached) in (*op_types.ADDITIONS, *op_types.JOINS, "Pack") and reached not in parts:
        behind = graph.descendants(parts, controls=False)
        own = [tensor.node for tensor in graph.inputs(reached) if tensor.node in behind]
        branches = [_factors_of_parts(graph, imported, node, parts, towers) for node in own]
        if len({tuple(factor.value for factor in branch) for branch in branches}) == 1:
            factors += branches[0]
    return factors


def _factors(
    graph: Graph, imported: ImportedGraph, name: str, ends: Collection[str], passes: Collection[str]
) -> tuple[list[Factor], str]:
    """The factors on the way from a node back to one of some ends, the last one first, and where that way stops.

    Args:
      graph: the cut graph.
      imported: the same graph in TensorFlow.
      name: of the node.
      ends: nodes.
      passes: types of the ops that may lie between.

    Returns:
      (factors, the end, or the first node at which more than one way goes on, or which is no constant factor).
    """
    behind = graph.descendants(ends, controls=False)
    factors: list[Factor] = []
    while name not in ends:
        kind, inputs = graph.type(name), graph.inputs(name)
        own = [place for place, tensor in enumerate(inputs) if tensor.node in behind]
        if len(own) != 1:
            break
        if kind in ("Mul", "RealDiv", "Div") and len(inputs) == 2:
            number = _number(imported, inputs[1 - own[0]])
            if not number or (kind != "Mul" and own[0]):
                break
            factors.append(Factor(name, number if kind == "Mul" else 1.0 / number))
        elif kind not in passes:
            break
        elif kind == "Neg" or (kind == "Sub" and own[0]):
            factors.append(Factor(name, -1.0))
        name = inputs[own[0]].node
    return factors, name


def _number(imported: ImportedGraph, tensor: TensorId) -> float | None:
    constant = imported.constant(*tensor)
    return float(constant) if constant is not None and np.ndim(constant) == 0 else None
