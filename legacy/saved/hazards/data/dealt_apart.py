"""Hazard of labels that are dealt to the towers otherwise than the examples, so that rows do not belong together."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.data.dealt_parts import Part, deals, dealt
from workloads.lifted.graph import TensorId

#: Ops behind which the rows of labels are the same.
_COPIES = ("Identity", "Cast", "Reshape", "Squeeze", "ExpandDims", "OneHot", "StopGradient")


def labels_dealt_otherwise(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses that compare what one part of an input gives with another part of the labels; one for all towers.

    Labels of which several towers take one part are dealt to none; that is `SAME_BATCH`.
    """
    takers: dict[Part, set[int | None]] = collections.defaultdict(set)
    apart = []
    for op, labels, others in _comparisons(whole) if whole.count > 1 else []:
        part = dealt_part(whole, labels)
        if part is None:
            continue
        takers[part].add(whole.labels.get(op))
        examples = parts_of_model(whole, others)
        if examples is not None and are_other_rows(whole, part, examples):
            apart.append((op, part, examples))
    for op, part, examples in apart if all(len(towers) == 1 for towers in takers.values()) else []:
        yield Hazard(
            "INPUTS_NOT_PAIRED",
            op,
            f"{op} compares what is computed from {examples.text()} with {part.text()}: the two inputs are divided "
            "among the towers in different ways, so that labels belong to other examples",
            "divide all inputs in the same way, as one dataset does; parity needs the same rows",
        )
        return


def _comparisons(whole: WholeGraph) -> Iterator[tuple[str, TensorId, TensorId]]:
    """Yields (op, labels, predictions) of the cross entropies and differences in the losses."""
    for entropy in cross_entropies(whole):
        yield entropy.op, entropy.labels, entropy.logits
    for name in whole.minimized_ops(*op_types.DIFFERENCES):
        first, second = whole.graph.inputs(name)[:2]
        yield name, second, first
        yield name, first, second


def dealt_part(whole: WholeGraph, tensor: TensorId) -> Part | None:
    """The tower's part of an input that a tensor is a copy of."""
    graph = whole.graph
    while graph.type(tensor.node) in _COPIES:
        tensor = graph.inputs(tensor.node)[0]
    return dealt(whole, tensor)


def parts_of_model(whole: WholeGraph, tensor: TensorId) -> Part | None:
    """The part of an input that a tower's predictions are computed from; the first of several that are dealt alike."""
    graph = whole.graph
    dealing = deals(whole)
    before = graph.ancestors([tensor.node], stop=dealing, controls=False)
    sources = {name for name in before - dealing if op_types.is_source(graph.type(name))}
    if not before & whole.trainable or sources & whole.data:
        return None
    taken = {
        TensorId(name, output) for name in dealing & before for user, _, output in graph.users(name) if user in before
    }
    parts = [dealt(whole, TensorId(*tensor)) for tensor in sorted(taken)]
    rules = {None if part is None else part[1:] for part in parts}
    return parts[0] if len(rules) == 1 else None


def are_other_rows(whole: WholeGraph, labels: Part, examples: Part) -> bool:
    """Compares the rules by which two inputs are dealt to the towers.

    Args:
      whole: the graph.
      labels: a tower's part of one input.
      examples: the same tower's part of another input.

    Returns:
      Whether the inputs have as many rows and the rules differ, so that labels meet other examples than their own.
    """
    if labels.source == examples.source or _rows(whole, labels.source) != _rows(whole, examples.source):
        return False
    if bool(labels.stride) != bool(examples.stride):
        block, rows = (examples, labels) if labels.stride else (labels, examples)
        if rows.stride > 1:  # every n-th row, beside a block of rows
            return block.size == whole.count == rows.stride and rows.first < whole.count
        labels, examples = _block_as_rows(whole, labels), _block_as_rows(whole, examples)
    if not labels.stride or not examples.stride:
        return (
            labels.stride == examples.stride
            and labels.size == examples.size == whole.count
            and (labels.first != examples.first)
        )
    strides = {labels.stride, examples.stride}
    if strides == {1}:
        sizes = {part.size - part.first for part in (labels, examples)}
        return labels.first != examples.first and len(sizes) == 1 and sizes.pop() > 0
    turns = labels if labels.stride > 1 else examples
    return strides == {1, whole.count} and turns.first < whole.count


def _block_as_rows(whole: WholeGraph, part: Part) -> Part:
    """A part of a split as the rows that it has, where the number of all rows is known; any other part as it is."""
    rows = _rows(whole, part.source)
    if part.stride or rows is None or rows % part.size:
        return part
    return Part(part.source, part.first * rows // part.size, 1, (part.first + 1) * rows // part.size)


def _rows(whole: WholeGraph, tensor: TensorId) -> int | None:
    """The number of rows of an input; None where it is open."""
    attributes = whole.graph.nodes[tensor.node].attr
    shapes = (
        attributes["output_shapes"].list.shape or attributes["_output_shapes"].list.shape or [attributes["shape"].shape]
    )
    shape = shapes[tensor.output] if tensor.output < len(shapes) else None
    return shape.dim[0].size if shape is not None and shape.dim and shape.dim[0].size > 0 else None
