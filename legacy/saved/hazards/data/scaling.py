"""Hazards of how inputs are scaled: divided by 255 twice, shifted by means of another range, or in some towers only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.data.images.loops import written_element
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that hand pixels on, perhaps others or in another shape, with their values.
_PASSES = (
    "Cast",
    "Identity",
    "Reshape",
    "ExpandDims",
    "Squeeze",
    "Transpose",
    "Slice",
    "StridedSlice",
    "ReverseV2",
    "Reverse",
    "ResizeBilinear",
    "ResizeNearestNeighbor",
    "RandomCrop",
    "Pad",
)
#: The least divisor that is taken for the range of a byte, or for half of it; and the least mean of such a range.
LEAST_RANGE, LEAST_MEAN = 100.0, 20.0


class _Scaled(NamedTuple):
    """The scaling of pixels on their way from a source.

    Attributes:
      factor: the product of all factors.
      divisions: nodes that divide by the range of a byte, the last one first.
    """

    factor: float
    divisions: list[str]


def badly_scaled_images(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds images that are divided by the range of a byte twice, or shifted by means of 0 to 255 behind a division."""
    for name in whole.graph.nodes:
        kind = whole.graph.type(name)
        if (
            name not in whole.reach
            or kind not in ("Mul", *op_types.QUOTIENTS, *op_types.SUMS_AND_DIFFERENCES)
            or not whole.graph.inputs(name)
        ):
            continue
        if kind in op_types.SUMS_AND_DIFFERENCES:
            yield from _shifted(whole, name)
        else:
            scaled = constant_factor(whole, name)
            found = _scaled(whole, TensorId(scaled[0], 0)) if scaled and scaled[1] <= 1 / LEAST_RANGE else None
            standardized = _standardized(whole, scaled[0]) if scaled and 0 < scaled[1] <= 1 / LEAST_RANGE else ""
            if scaled is not None and standardized:
                yield Hazard(
                    "IMAGES_SCALED_TWICE",
                    name,
                    f"{name} divides by {1 / scaled[1]:g} what {standardized} divided by its own deviation: the model "
                    f"gets values of about {scaled[1]:.3g}",
                    "scale once; for parity keep both",
                )
                return
            if scaled is not None and found is not None and found.divisions and found.factor * LEAST_RANGE < 1:
                yield Hazard(
                    "IMAGES_SCALED_TWICE",
                    name,
                    f"{name} divides by {1 / scaled[1]:g} what {found.divisions[0]} divided by the range of a byte: "
                    f"the model gets values up to {255 * found.factor * scaled[1]:.3g}",
                    "divide once; for parity keep both",
                )
                return


def _standardized(whole: WholeGraph, name: str) -> str:
    """The node that divides data less their mean by their deviation, whose results a node holds; "" if none does."""
    graph = whole.graph
    while graph.type(name) in _PASSES and graph.inputs(name):
        name = graph.inputs(name)[0].node
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)[:2]]
    if graph.type(name) not in op_types.SCALINGS or len(inputs) != 2:
        return ""
    means = [graph.type(tensor.node) for tensor in graph.inputs(inputs[0])] if graph.type(inputs[0]) == "Sub" else []
    before = graph.ancestors([inputs[1]], controls=False)
    is_deviation = any(graph.type(node) in op_types.ROOTS for node in before) and inputs[1] in whole.data
    return name if "Mean" in means and is_deviation and not before & whole.trainable else ""


def _shifted(whole: WholeGraph, name: str) -> Iterator[Hazard]:
    inputs = whole.graph.inputs(name)
    for tensor, other in zip(inputs, reversed(inputs)):
        mean = constant_array(whole.graph, other.node)
        if mean is None or not mean.size or np.min(np.abs(mean)) < LEAST_MEAN or np.max(np.abs(mean)) > 255:
            continue
        found = _scaled(whole, tensor)
        if found is not None and found.divisions and found.factor * LEAST_RANGE < 1:
            yield Hazard(
                "MEANS_OF_ANOTHER_RANGE",
                name,
                f"{name} shifts by {np.max(np.abs(mean)):g}, a mean of values up to 255, what {found.divisions[0]} "
                f"divided before: values up to {255 * found.factor:.3g} are lost beside the mean",
                "subtract the means before the division, or divide the means too; for parity keep it",
            )


def _scaled(whole: WholeGraph, tensor: TensorId) -> _Scaled | None:
    """The scaling of the pixels that a tensor holds, since a source brought them; None if it holds anything else."""
    graph, factor = whole.graph, 1.0
    divisions: list[str] = []
    while True:
        kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
        if op_types.is_source(kind) or "Decode" in kind:
            return _Scaled(factor, divisions)
        if kind == "Merge":
            rest = _scaled_alike(whole, inputs)
            return rest and _Scaled(factor * rest.factor, divisions + rest.divisions)
        before, by = _before(whole, tensor), 1.0
        if before is None:
            scaled = constant_factor(whole, tensor.node)
            if scaled is None:
                return None
            before, by = TensorId(scaled[0], 0), scaled[1]
        factor *= by
        divisions += [tensor.node] if 0 < by <= 1 / LEAST_RANGE else []
        tensor = before


def _before(whole: WholeGraph, tensor: TensorId) -> TensorId | None:
    """The tensor whose pixels another one holds with their values, perhaps shifted; None of any other."""
    kind, inputs = whole.graph.type(tensor.node), whole.graph.inputs(tensor.node)
    if kind in op_types.SPLITS:
        return inputs[op_types.divided_input(kind)]
    if kind in (*_PASSES, "Switch") and inputs:
        return inputs[0]
    if kind in op_types.SUMS_AND_DIFFERENCES:
        computed = [before for before in inputs if constant_array(whole.graph, before.node) is None]
        return computed[0] if len(computed) == 1 else None
    return written_element(whole.graph, tensor)


def _scaled_alike(whole: WholeGraph, branches: Sequence[TensorId]) -> _Scaled | None:
    """The scaling of what either branch of a `cond` gives, as of an image that is flipped or not; None of others."""
    found = [_scaled(whole, branch) for branch in branches]
    return found[0] if all(one is not None and one == found[0] for one in found) else None


def scaled_in_some_towers(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds inputs that towers multiply and shift by different constants before the model; one hazard for each."""
    for entry in found.plan.inputs if found.plan.towers > 1 else []:
        starts = [parse_tensor_name(tensor) for tensor in entry.tensors]
        if len(set(starts)) < found.plan.towers or any(start.node not in whole.graph.nodes for start in starts):
            continue
        each = [_linear_maps(whole, start, tower) for tower, start in enumerate(starts)]
        other = next((tower for tower, maps in enumerate(each) if maps != each[0]), 0)
        if all(each) and other:
            yield Hazard(
                "SCALED_IN_SOME_TOWERS",
                starts[0].node,
                f"tower 0's model gets {_maps_text(each[0], entry.name)}, and tower {other}'s "
                f"{_maps_text(each[other], entry.name)}",
                "prepare all examples alike, before they are dealt to the replicas; for parity keep the towers' ways",
            )


def _linear_maps(whole: WholeGraph, start: TensorId, tower: int) -> set[tuple[float, float]]:
    """{(factor, shift)} that constants give what a tower's loss takes of an input, before any other op."""
    graph, found = whole.graph, set()
    todo, seen = [(start, 1.0, 0.0)], {start}
    while todo:
        tensor, factor, shift = todo.pop()
        users = {use.node for use in graph.users(tensor.node) if graph.inputs(use.node)[use.position] == tensor}
        for name in [name for name in users if name in whole.minimized and whole.labels.get(name, tower) == tower]:
            changed = _changed(whole, name, tensor, factor, shift)
            if is_gradient_op(name) or graph.type(name) in op_types.SHAPE_OPS:
                continue
            if changed is None:
                found.add((round(factor, ndigits=7), round(shift, ndigits=7)))
            elif TensorId(name, 0) not in seen:
                seen.add(TensorId(name, 0))
                todo.append((TensorId(name, 0), *changed))
    return found


def _changed(whole: WholeGraph, name: str, tensor: TensorId, factor: float, shift: float) -> tuple[float, float] | None:
    """Returns (factor, shift) behind a node that multiplies or shifts a tensor by a constant; None for any other."""
    kind, inputs = whole.graph.type(name), whole.graph.inputs(name)
    if kind in op_types.COPIES:
        return factor, shift
    numbers = [whole.value(before.node) for before in inputs if before != tensor]
    if len(inputs) != 2 or len(numbers) != 1 or numbers[0] is None or (kind != "Mul" and inputs[0] != tensor):
        return None
    number = numbers[0]
    if kind in op_types.SUMS_AND_DIFFERENCES:
        return factor, shift - number if kind == "Sub" else shift + number
    if kind in op_types.SCALINGS and number:
        by = number if kind == "Mul" else 1 / number
        return factor * by, shift * by
    return None


def _maps_text(maps: set[tuple[float, float]], name: str) -> str:
    """Linear functions of an input in words."""
    texts = [
        f"{name} as it is"
        if (factor, shift) == (1.0, 0.0)
        else f"{factor:.4g} * {name}" + (f" {'-' if shift < 0 else '+'} {abs(shift):.4g}" if shift else "")
        for factor, shift in sorted(maps)
    ]
    return " and ".join(texts)
