"""Hazard of masked convolutions that read the pixel that they predict."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_source
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def pixels_read(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds first layers of a PixelCNN whose mask keeps its center, where the loss has the same pixel; one for all."""
    graph = whole.graph
    labels = {_pixels(whole, entropy.labels): entropy.op for entropy in cross_entropies(whole)}
    for name in [name for name in whole.minimized_ops("Conv2D") if not is_gradient_op(name)] if labels else []:
        image, kernel = graph.inputs(name)[:2]
        pixels = _pixels(whole, image)
        is_same = graph.nodes[name].attr["padding"].s == b"SAME" and pixels.node in whole.data
        if is_same and pixels in labels and _keeps_center(whole, kernel):
            yield Hazard(
                "TARGETS_ARE_INPUTS",
                name,
                f"{name} reads {pixels.name} by a kernel that is masked behind its center, and not at it, and "
                f"{labels[pixels]} has the same pixel as its label: the model only learns to copy its input",
                "the first layer of a PixelCNN needs the mask A, with 0 at the center; for parity keep it",
            )
            return


def _pixels(whole: WholeGraph, tensor: TensorId) -> TensorId:
    """The images that a tensor is a linear function of, element by element."""
    graph = whole.graph
    while True:
        tensor = source_of_elements(graph, tensor)
        name = linear_source(whole, tensor.node)[0]
        if name == tensor.node:
            return tensor
        tensor = TensorId(name, tensor.output if name == tensor.node else 0)


def _keeps_center(whole: WholeGraph, kernel: TensorId) -> bool:
    """Whether a kernel is multiplied by a mask of ones up to its center, and of zeros behind it, as rows are read."""
    graph, product = whole.graph, whole.graph.origin(kernel).node
    if graph.type(product) != "Mul":
        return False
    inputs = [tensor.node for tensor in graph.inputs(product)]
    masks = [
        mask for mask in (constant_array(graph, graph.origin(TensorId(n, 0)).node) for n in inputs) if mask is not None
    ]
    if len(masks) != 1 or not any(variable_read(graph, name) in whole.trainable for name in inputs):
        return False
    (mask,) = masks
    if mask.ndim != 4 or mask.shape[0] % 2 == 0 or mask.shape[1] % 2 == 0 or mask.shape[0] * mask.shape[1] < 2:
        return False
    rows = mask.reshape(mask.shape[0] * mask.shape[1], -1)
    center = len(rows) // 2
    return bool(np.all(rows[: center + 1] != 0) and not np.any(rows[center + 1 :]))
