"""The number of a tower's examples that a reshape to constant sizes demands, where the inputs take any."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from workloads.lifted.graph import SWITCHES, TensorId, Use, parse_tensor_name

#: Ops of one result that has a row for each row of their first input, whatever that is; and those of any input.
_OF_FIRST = (
    *("BiasAdd", "MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D", *op_types.CONVOLUTIONS),
    *("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
)
_ACTIVATIONS = ("Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Tanh", "Sigmoid", "Softplus")
_OF_ANY = ("Square", "Abs", "Neg", *_ACTIVATIONS, "Merge", *op_types.COPIES, *op_types.ARITHMETIC)


def rows_of_reshapes(analysed: AnalysedStep) -> int | None:
    """Returns the rows of inputs for which reshapes have constant sizes; None where there are none, or several numbers.

    So it is where a program writes the size of its batch, `tf.reshape(images, [batch_size, 28, 28, 1])`, perhaps of
    the results of layers.
    """
    found = set()
    for entry in analysed.plan.inputs:
        if entry.has_examples and entry.shape:
            for name in set(entry.tensors):
                found |= set(_rows(analysed, parse_tensor_name(name)))
    return found.pop() if len(found) == 1 else None


def _rows(analysed: AnalysedStep, given: TensorId) -> Iterator[int]:
    """Yields the rows that reshapes by constant sizes demand of an input, or of what has a row for each of its rows."""
    graph, imported = analysed.graph, analysed.imported
    todo, seen = [given], {given}
    for tensor in todo:
        shape = imported.shape(*tensor)
        if not shape or (shape[0] is not None and tensor != given):
            continue
        elements = int(np.prod([size or 0 for size in shape[1:]]))
        for use in graph.users(tensor.node):
            if use.output != tensor.output:
                continue
            if graph.type(use.node) == "Reshape" and not use.position:
                sizes = imported.constant(*graph.inputs(use.node)[1])
                number = int(np.prod(sizes)) if sizes is not None and sizes.size and sizes.min() > 0 else 0
                if number and elements and not number % elements:
                    yield number // elements
            is_same = graph.type(use.node) == "Reshape" and _keeps_rows(analysed, use, elements, seen)
            results = [TensorId(use.node, 0)] if is_same else _with_a_row_of_each(analysed, use)
            further = [one for one in results if one not in seen]
            todo += further
            seen.update(further)


def _keeps_rows(analysed: AnalysedStep, use: Use, elements: int, seen: Collection[TensorId]) -> bool:
    """Whether a reshape leaves rows apart, as batch normalization's to images of one pixel, and back to what it took.

    Args:
      analysed: the training step.
      use: of what is reshaped.
      elements: of one row; 0 where it is not known.
      seen: tensors that have a row for each of the input's.
    """
    sizes = analysed.graph.inputs(use.node)[1]
    if use.position:
        return False
    if analysed.graph.type(sizes.node) == "Shape":
        return analysed.graph.inputs(sizes.node)[0] in seen
    constant = analysed.imported.constant(*sizes)
    return constant is not None and constant.size > 0 and constant[0] == -1 and np.prod(constant[1:]) == elements > 0


def _with_a_row_of_each(analysed: AnalysedStep, use: Use) -> list[TensorId]:
    """The results of an op that have a row for each row of what it takes."""
    graph, imported, name = analysed.graph, analysed.imported, use.node
    kind, attributes = graph.type(name), graph.nodes[name].attr
    if kind in _OF_ANY or (kind in _OF_FIRST and not use.position):
        return [TensorId(name, 0)]
    if kind in SWITCHES and not use.position:
        return [TensorId(name, 0), TensorId(name, 1)]
    if kind == "MatMul" and not use.position and not attributes["transpose_a"].b:
        return [TensorId(name, 0)]
    if kind == "StridedSlice" and not use.position:
        masks = [attributes[f"{mask}_mask"].i for mask in ("begin", "end")]
        others = [attributes[f"{mask}_mask"].i for mask in ("ellipsis", "new_axis", "shrink_axis")]
        return [TensorId(name, 0)] if all(mask & 1 for mask in masks) and not any(mask & 1 for mask in others) else []
    axis = {"Split": 0, "ConcatV2": len(graph.inputs(name)) - 1}.get(kind)
    if axis is None or axis == use.position:
        return []
    number = imported.constant(*graph.inputs(name)[axis])
    count = attributes["num_split"].i if kind == "Split" else 1
    return [TensorId(name, i) for i in range(count)] if number is not None and number > 0 else []
