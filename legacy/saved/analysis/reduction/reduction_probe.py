"""Reduction probe: recognises how the towers' gradients are combined by evaluating that part of the graph.

Old programs average in a dozen ways (concat and reduce_mean, stack, add_n and divide, a chain of adds). One probe
recognises all of them: it feeds numbers in place of the towers' gradients, evaluates the tensor in which they meet,
and compares it with the numbers' sum and concatenation.
"""

from __future__ import annotations

import collections

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.reduction.meeting_tensors import linear_chain, meeting_tensors
from legacy.saved.analysis.reduction.piece_values import evaluate_piece
from legacy.saved.analysis.reduction.reduction import Reduction, reduction_of_values, sum_of
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId, tensor_name
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.pieces.piece import Piece
from workloads.lifted.plan import Combine

#: Dimension that the probe uses where a gradient's shape is open.
OPEN_DIMENSION = 3


class ReductionProbe:
    """Recognises how the towers' gradients of a train op's variables are combined.

    Variables that are combined alike are evaluated once.

    Args:
      graph: the cut graph.
      imported: the graph as TensorFlow imports it.
      cutter: cuts the part that is evaluated out of the graph.
      tower_nodes: {node: tower}.
    """

    def __init__(self, graph: Graph, imported: ImportedGraph, cutter: Cutter, tower_nodes: dict[str, int]) -> None:
        self._graph, self._imported, self._cutter, self._tower_nodes = graph, imported, cutter, tower_nodes
        self._known: dict[str, Reduction | None] = {}  # by outline

    def recognise(self, label: str, target: TensorId, parts: list[list[TensorId]], shape: list[int] | None) -> Combine:
        """Recognises how the towers' gradients of one variable are combined.

        Args:
          label: of the gradient in the plan: the variable, and " (indices)" for a sparse gradient's rows.
          target: the tensor that the update rule gets.
          parts: for each tower, its gradients; see `meeting_tensors.nearest_tensors`.
          shape: the variable's shape, used where a gradient's is not known.

        Returns:
          The `Combine`: of the last tensor before the update rule that is nothing but a reduction of the towers'
          gradients, or of kind "kept as written" with the update rule's gradient itself.
        """
        names = [[tensor_name(*tensor) for tensor in tower] for tower in parts]
        written = Combine(label, "kept as written", tensor_name(*target), 1.0, names)
        flat = [tensor for tower in parts for tensor in tower]
        if not flat or len({len(tower) for tower in parts}) != 1:
            return written
        for meeting in meeting_tensors(self._graph, flat, target, self._tower_nodes):
            found = written
            for tensor in linear_chain(self._graph, self._imported, meeting, target):
                reduction = self._probe(tensor, parts, shape)
                if reduction is not None:
                    kind, scale, affine = reduction.kind, reduction.scale, reduction.affine
                    found = Combine(label, kind, tensor_name(*tensor), scale, names, affine)
            if found is not written:
                return found
        return written

    def _probe(self, meeting: TensorId, parts: list[list[TensorId]], shape: list[int] | None) -> Reduction | None:
        """Recognises a tensor as a reduction of the towers' gradients."""
        values = _made_up_gradients(self._imported, parts, shape)
        if values is None:
            return None
        piece = self._cutter.piece([tensor_name(*meeting)], list(values))
        outline = _outline(piece, values)
        if outline not in self._known:
            self._known[outline] = _reduction(piece, values, parts)
        return self._known[outline]


def _outline(piece: Piece, values: dict[str, np.ndarray]) -> str:
    """Everything that a probe's result depends on, without names: equal for variables that are combined alike."""
    numbers = {node.name: f"n{i}" for i, node in enumerate(piece.graph_def.node)}
    texts = [f"{list(value.shape)} {value.dtype}" for value in values.values()]
    for feed in piece.feeds:
        position = list(values).index(str(feed.key)) if feed.kind == "cut" else -1
        texts.append(f"{feed.kind} {position} {numbers[feed.placeholder]}")
    for node in piece.graph_def.node:
        inputs = []
        for text in node.input:
            name, colon, output = text.lstrip("^").partition(":")
            inputs.append(("^" if text.startswith("^") else "") + numbers[name] + colon + output)
        attributes = sorted((name, value.SerializeToString(deterministic=True)) for name, value in node.attr.items())
        texts.append(f"{numbers[node.name]} {node.op} {inputs} {attributes}")
    return "\n".join(texts + [str([numbers[fetch.partition(":")[0]] for fetch in piece.fetches])])


def _reduction(piece: Piece, values: dict[str, np.ndarray], parts: list[list[TensorId]]) -> Reduction | None:
    """Evaluates a piece for made-up gradients of the towers and compares it with their sum and concatenation."""
    try:
        result, affine = evaluate_piece(piece, values)
    except (tf.errors.OpError, ValueError, TypeError):
        return None
    towers = [sum_of([values[tensor_name(*tensor)].astype("float64") for tensor in tower]) for tower in parts]
    return reduction_of_values(result, towers, affine)


def _made_up_gradients(
    imported: ImportedGraph, parts: list[list[TensorId]], shape: list[int] | None
) -> dict[str, np.ndarray] | None:
    """{tensor's name: small integers}, which float32 adds exactly; None if the gradients' shapes are not alike."""
    tensors = [tensor for tower in parts for tensor in tower]
    shapes = [imported.shape(*tensor) or shape for tensor in tensors]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) != 1:
        return None
    sizes = [next((size for size in sizes if size is not None), OPEN_DIMENSION) for sizes in zip(*known)]
    rng = np.random.RandomState(7)
    return collections.OrderedDict(
        (tensor_name(*tensor), rng.randint(-64, 64, sizes).astype(imported.dtype(*tensor))) for tensor in tensors
    )
