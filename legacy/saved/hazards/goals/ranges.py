"""Hazards of results of one range, such as of a sigmoid, that are compared with data of another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.joins import join_of
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_part
from legacy.saved.hazards.basics.squares import is_error
from legacy.saved.hazards.basics.variable_reads import variable_read, variables_behind
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: {op: the least and the largest of its results}.
_BOUNDED = {"Tanh": (-1.0, 1.0), "Sigmoid": (0.0, 1.0)}
#: {op that hands values on, perhaps in other places: the position of its input that has them}.
_PASSES = {
    **{name: 0 for name in ("Reshape", "Transpose", "Squeeze", "ExpandDims", "Identity", "Slice", "StridedSlice")},
    **{name: 0 for name in ("ReverseV2", "ResizeBilinear", "ResizeArea", "ResizeNearestNeighbor", "SplitV", "Unpack")},
    "Split": 1,
}
_BYTE, _TOP = tf.uint8.as_datatype_enum, 255.0
#: Ranges that numbers have after a division by 127.5 or 255, and how much they may be off, as where 128 divides.
_SPANS, _OFF = (1.0, 2.0), 0.02
#: The part of a range that no result can reach, from which on it is reported.
_OUT_OF_REACH = 0.25


class _Range(NamedTuple):
    low: float
    high: float

    def text(self) -> str:
        """The range in words."""
        return f"{round(self.low, 2) + 0:g} to {round(self.high, 2) + 0:g}"

    def lacks(self, other: _Range) -> bool:
        """Whether much of another range lies outside of this one."""
        inside = max(0.0, min(self.high, other.high) - max(self.low, other.low))
        return 1 - inside / (other.high - other.low) > _OUT_OF_REACH


def targets_out_of_reach(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds errors of bounded results, of which images have another range, and labels of a sigmoid; one for all."""
    graph = whole.graph
    differences = [name for name in whole.minimized_ops("Sub", "SquaredDifference") if not is_gradient_op(name)]
    for name in [name for name in differences if is_error(whole, name)]:
        sides = graph.inputs(name)
        for result, target in (sides, sides[::-1]):
            bounds, given = _range_of_results(whole, result), _range_of_images(whole, target)
            if bounds is not None and given is not None and bounds.lacks(given):
                yield _hazard(name, f"results {result.node} of {bounds.text()}", target.node, given)
                return
    for entropy in cross_entropies(whole):
        given = _range_of_images(whole, entropy.labels) if entropy.is_sigmoid else None
        if given is not None and _Range(0.0, 1.0).lacks(given):
            yield _hazard(
                entropy.op, f"the probabilities of the logits {entropy.logits.node}", entropy.labels.node, given
            )
            return


def _hazard(name: str, results: str, target: str, given: _Range) -> Hazard:
    return Hazard(
        "TARGETS_OUT_OF_RANGE",
        name,
        f"{name} compares {results} with {target}, images that are scaled to {given.text()}: no result can reach a "
        "large part of them",
        "scale the images to the range of the last layer's activation, or take another one; for parity keep it",
    )


def examples_of_another_range(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a layer that takes images of one range, and generated ones of another one; one hazard for all."""
    graph = whole.graph
    images: dict[str, tuple[str, _Range]] = {}
    results: dict[str, tuple[str, _Range]] = {}
    for name in [name for name in whole.minimized_ops("Conv2D", "MatMul") if not is_gradient_op(name)]:
        weight = variable_read(graph, graph.inputs(name)[1].node)
        for part in _examples(whole, graph.inputs(name)[0]) if weight else []:
            bounds, given = _range_of_results(whole, part), _range_of_images(whole, part)
            if bounds is not None and weight not in variables_behind(graph, part.node):  # as a state of its own
                results.setdefault(weight, (part.node, bounds))
            elif given is not None:
                images.setdefault(weight, (part.node, given))
    for weight in [weight for weight in results if weight in images]:
        (result, bounds), (image, given) = results[weight], images[weight]
        distance = max(abs(bounds.low - given.low), abs(bounds.high - given.high))
        if distance > _OUT_OF_REACH * (given.high - given.low):
            yield Hazard(
                "EXAMPLES_OF_ANOTHER_RANGE",
                result,
                f"the layer of {weight} takes generated examples {result} of {bounds.text()}, and {image}, images that "
                f"are scaled to {given.text()}: their ranges alone tell them apart",
                "scale the images to the range of the generator's last activation; for parity keep it",
            )
            return


def _examples(whole: WholeGraph, tensor: TensorId) -> list[TensorId]:
    """The parts of a batch that joins real and generated examples; not the features that a layer joins."""
    join = join_of(whole.graph, tensor.node)
    return join.parts if join is not None and whole.value(join.axis.node) == 0 else [tensor]


def _range_of_results(whole: WholeGraph, tensor: TensorId) -> _Range | None:
    """The range of what layers give through a bounded function, and constants by which it is scaled."""
    name, factor, offset = _scaled(whole, tensor)
    bounds = _BOUNDED.get(whole.graph.type(name)) if name in made_by_weights(whole) else None
    return None if bounds is None else _range(bounds, factor, offset)


def _range_of_images(whole: WholeGraph, tensor: TensorId) -> _Range | None:
    """The range of bytes, or of what a program divides as if it were, behind constants that scale it."""
    if tensor.node in made_by_weights(whole) or tensor.node not in whole.data:
        return None
    name, factor, offset = _scaled(whole, tensor, of_bytes=True)
    span = abs(factor) * _TOP
    is_byte = whole.graph.type(name) == "Cast" and whole.graph.nodes[name].attr["SrcT"].type == _BYTE
    is_divided = any(abs(span / one - 1) < _OFF for one in _SPANS)
    return _range((0.0, _TOP), factor, offset) if is_byte or is_divided else None


def _range(bounds: tuple[float, float], factor: float, offset: float) -> _Range | None:
    ends = sorted(factor * bound + offset for bound in bounds)
    return _Range(*ends) if ends[0] < ends[1] else None


def _scaled(whole: WholeGraph, tensor: TensorId, of_bytes: bool = False) -> tuple[str, float, float]:
    """(x, a, b) of values a x + b, perhaps in other places than those of x; where asked, x may be a Cast of bytes."""
    graph, name, factor, offset = whole.graph, tensor.node, 1.0, 0.0
    while True:
        kind = graph.type(name)
        if of_bytes and kind == "Cast" and graph.nodes[name].attr["SrcT"].type == _BYTE:
            return name, factor, offset
        part = linear_part(whole, name)
        if kind in _PASSES and graph.inputs(name):
            name = graph.inputs(name)[_PASSES[kind]].node
        elif part is not None:
            name, factor, offset = part[0], factor * part[1], factor * part[2] + offset
        else:
            return name, factor, offset
