"""The number of a tower's examples that a reshape to constant sizes demands, where the inputs take any."""

from __future__ import annotations

import numpy as np

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name


def rows_of_reshapes(analysed: AnalysedStep) -> int | None:
    """Returns the rows of inputs for which reshapes have constant sizes; None where there are none, or several numbers.

    So it is where a program writes the size of its batch, `tf.reshape(images, [batch_size, 28, 28, 1])`.
    """
    found = set()
    for entry in analysed.plan.inputs:
        example = (entry.shape or [None])[1:]
        if entry.has_examples and entry.shape and None not in example:
            elements = int(np.prod([size or 0 for size in example]))
            for name in set(entry.tensors):
                found |= {
                    number // elements for number in _elements(analysed, name) if elements and not number % elements
                }
    return found.pop() if len(found) == 1 else None


def _elements(analysed: AnalysedStep, name: str) -> set[int]:
    """The numbers of elements that reshapes of a tensor, or of a copy of it, have by constant sizes."""
    graph, found = analysed.graph, set()
    todo: list[TensorId] = [parse_tensor_name(name)]
    for tensor in todo:
        for use in graph.users(tensor.node):
            if use.output != tensor.output or use.position:
                continue
            if graph.type(use.node) in op_types.COPIES:
                todo.append(TensorId(use.node, 0))
            elif graph.type(use.node) == "Reshape":
                sizes = analysed.imported.constant(*graph.inputs(use.node)[1])
                if sizes is not None and sizes.size and sizes.min() > 0:
                    found.add(int(np.prod(sizes)))
    return found
