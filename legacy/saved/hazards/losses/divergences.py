"""Hazard of a variational loss whose divergence is a mean over the code, beside errors that are summed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Optional

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import COPIES, SUMS, constant_factor
from legacy.saved.hazards.basics.sizes import is_number_of_elements
from legacy.saved.hazards.basics.squares import squared
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: The factors of a divergence 0.5 (mu^2 + exp(h) - h - 1) without a weight.
_USUAL = (0.5, 1.0)
_TOLERANCE = 1e-5


class _Way(NamedTuple):
    """The sums and means by which a loss takes the elements of a node.

    Attributes:
      nodes: those behind it, up to the loss.
      means, sums: the dimensions of the node along which it is averaged and added up; 0 is that of the examples.
      factor: the product of the constants, without sign.
    """

    nodes: list[str]
    means: set[int]
    sums: set[int]
    factor: float


def divergences_divided_by_the_code(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds exp(h) - h + mu^2 averaged over examples and code, and errors summed over outputs; one hazard for all.

    A divergence or errors that a number multiplies have a weight that the program chose.
    """
    graph = whole.graph
    for target in minimized_targets(whole):
        signs = linear_signs(whole, target)
        for name in [name for name in signs if graph.type(name) == "Exp" and name in found.cut.graph.nodes]:
            logarithm = graph.origin(graph.inputs(name)[0]).node
            shape = found.context.imported.shape(name)
            if signs[name] <= 0 or signs.get(logarithm, 0) >= 0 or shape is None or len(shape) != 2 or shape[1] == 1:
                continue
            way = _way(whole, found, signs, name, target)
            is_mean = way is not None and 1 in way.means and any(abs(way.factor - one) < _TOLERANCE for one in _USUAL)
            if way is None or not is_mean or not _has_square(whole, signs, target, way):
                continue
            errors = _summed_errors(whole, found, signs, target, logarithm, set(way.nodes))
            if errors:
                yield Hazard(
                    "DIVERGENCE_OVER_CODE",
                    next(node for node in way.nodes if graph.type(node) == "Mean"),
                    f"{target} takes the mean of a divergence over the {shape[1] or 'elements'} numbers of the code, "
                    f"{logarithm}, and adds up the errors of each example's outputs, {errors}: the divergence has the "
                    f"weight 1/{shape[1] or 'their number'} of a variational bound",
                    "add the divergence up over the code; for parity keep the mean",
                )
                return


def _way(whole: WholeGraph, found: Analysis, signs: Mapping[str, int], name: str, target: str) -> Optional[_Way]:
    """The sums and means by which a loss takes the elements of a node; None if other ops are on the way.

    Args:
      whole: the graph.
      found: its analysis.
      signs: of the derivatives of the loss by what it is a linear function of.
      name: the node.
      target: the loss.
    """
    graph, imported = whole.graph, found.context.imported
    shape = imported.shape(name)
    left, way = list(range(len(shape or ()))), _Way([], set(), set(), 1.0)
    while name != target:
        users = {use.node for use in graph.users(name) if use.node in signs and not is_gradient_op(use.node)}
        if len(users) != 1:
            return None
        before, name = name, users.pop()
        kind, scaled = graph.type(name), constant_factor(whole, name)
        way.nodes.append(name)
        if kind in op_types.REDUCTIONS:
            axes = imported.constant(*graph.inputs(name)[1]) if name in found.cut.graph.nodes else None
            if axes is None or graph.nodes[name].attr["keep_dims"].b:
                return None
            gone = {left[axis] for axis in np.ravel(axes).tolist() if -len(left) <= axis < len(left)}
            (way.sums if kind == "Sum" else way.means).update(gone)
            left = [axis for axis in left if axis not in gone]
        elif scaled is not None:
            way = way._replace(factor=way.factor * abs(scaled[1]))
        elif kind in op_types.QUOTIENTS and is_number_of_elements(whole, graph.inputs(name)[1].node):
            if graph.inputs(name)[0].node != before or 0 not in way.sums:
                return None
        elif kind not in (*SUMS, "Neg", "Identity", *COPIES[-2:]) or kind in ("Pack", "ConcatV2", "Concat"):
            return None
    return way


def _has_square(whole: WholeGraph, signs: Mapping[str, int], target: str, way: _Way) -> bool:
    """Whether the averaged value also contains the square of a layer's result, such as that of a code's mean."""
    mean = next(node for node in way.nodes if whole.graph.type(node) == "Mean")
    inner = linear_signs(whole, mean)
    squares = [node for node in inner if whole.graph.type(node) == "Square" or squared(whole, node) is not None]
    return any(signs.get(node, 0) > 0 for node in squares) and mean != target


def _summed_errors(
    whole: WholeGraph, found: Analysis, signs: Mapping[str, int], target: str, logarithm: str, others: set[str]
) -> str:
    """A sum over the outputs that a code makes, whose mean over examples a loss contains with the weight 1; "" if none.

    Args:
      whole: the graph.
      found: its analysis.
      signs: of the derivatives of the loss by what it is a linear function of.
      target: the loss.
      logarithm: the logarithm of the variance of the code, on which the outputs depend.
      others: nodes by which the loss takes the divergence.
    """
    graph, imported = whole.graph, found.context.imported
    for name in [name for name in signs if graph.type(name) == "Sum" and name in found.cut.graph.nodes]:
        source = graph.inputs(name)[0].node
        shape = imported.shape(source) if source in found.cut.graph.nodes else None
        if name in others or shape is None or len(shape) < 2:
            continue
        way = _way(whole, found, signs, source, target)
        if way is None or logarithm not in graph.ancestors([source], controls=False) or logarithm == source:
            continue
        summed = [shape[axis] for axis in way.sums if axis]
        divisor = 1 / way.factor if way.factor else 0.0
        is_plain = abs(divisor - 1) < _TOLERANCE or (0 in way.sums and abs(divisor - (shape[0] or 0)) < _TOLERANCE)
        is_of_all = not any(axis for axis in way.means)
        if summed and any(size != 1 for size in summed) and is_plain and is_of_all:
            return name
    return ""
