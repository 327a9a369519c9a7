"""Reduction probe: recognises how the towers' gradients are combined by evaluating that part of the graph.

Old programs average in a dozen ways (concat and reduce_mean, stack, add_n and divide, a chain of adds). One probe
recognises all of them: it feeds numbers in place of the towers' gradients, evaluates the tensor in which they meet,
and compares it with the numbers' sum and concatenation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.reduction.meeting_tensors import linear_chain, meeting_tensors
from legacy.saved.analysis.reduction.piece_values import evaluate_piece, fed_numbers
from legacy.saved.analysis.reduction.reduction import TOLERANCE, Reduction, reduction_of_values, sum_of
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name, tensor_name
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.pieces.piece import Piece
from workloads.lifted.plan import Combine

#: Dimension that the probe uses where a gradient's shape is open.
OPEN_DIMENSION = 3
#: Gradients of fewer elements are made up so many times more.
_FEW_ELEMENTS, _MORE = 4, 2
#: Of the first numbers that are made up.
_SEED = 7


class _Made(NamedTuple):
    """Sizes and dtype of a gradient that is made up."""

    sizes: list[int]
    dtype: str


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
        self._weights: dict[str, list[float] | None] = {}  # by outline

    def recognise(self, label: str, target: TensorId, parts: list[list[TensorId]], shape: list[int] | None) -> Combine:
        """Recognises how the towers' gradients of one variable are combined.

        Args:
          label: of the gradient in the plan: the variable, and " (indices)" for a sparse gradient's rows.
          target: the tensor that the update rule gets.
          parts: for each tower, its gradients; see `meeting_tensors.nearest_tensors`.
          shape: the variable's shape, used where a gradient's is not known, or in parts, as behind a loop.

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

    def weights(self, combine: Combine) -> list[float] | None:
        """Returns how many times each tower's gradient counts in a combined one that is no plain sum.

        Args:
          combine: of kind "kept as written", with one gradient of each tower.

        Returns:
          A number for each tower; None where the combined gradient is no weighted sum of the towers'.
        """
        parts = [[parse_tensor_name(name) for name in tower] for tower in combine.parts]
        types = _types(self._imported, parts, None) if {len(tower) for tower in parts} == {1} else None
        if types is None or len(types) < len(parts):
            return None
        piece = self._cutter.piece([combine.tensor], list(types))
        outline = _outline(piece, types)
        if outline not in self._weights:
            self._weights[outline] = _weights(piece, types)
        return self._weights[outline]

    def _probe(self, meeting: TensorId, parts: list[list[TensorId]], shape: list[int] | None) -> Reduction | None:
        """Recognises a tensor as a reduction of the towers' gradients, of their dtype."""
        if self._imported.dtype(*meeting) != self._imported.dtype(*parts[0][0]):
            return None
        types = _types(self._imported, parts, shape)
        if types is None:
            return None
        piece = self._cutter.piece([tensor_name(*meeting)], list(types))
        outline = _outline(piece, types)
        if outline not in self._known:
            self._known[outline] = _reduction(piece, types, parts)
        return self._known[outline]


def _outline(piece: Piece, types: dict[str, _Made]) -> str:
    """Everything that a probe's result depends on, without names: equal for variables that are combined alike."""
    numbers = {node.name: f"n{i}" for i, node in enumerate(piece.graph_def.node)}
    texts = [f"{one.sizes} {one.dtype}" for one in types.values()]
    for feed in piece.feeds:
        position = list(types).index(str(feed.key)) if feed.kind == "cut" else -1
        texts.append(f"{feed.kind} {position} {numbers[feed.placeholder]}")
    for node in piece.graph_def.node:
        inputs = []
        for text in node.input:
            name, colon, output = text.lstrip("^").partition(":")
            inputs.append(("^" if text.startswith("^") else "") + numbers[name] + colon + output)
        attributes = sorted((name, value.SerializeToString(deterministic=True)) for name, value in node.attr.items())
        texts.append(f"{numbers[node.name]} {node.op} {inputs} {attributes}")
    return "\n".join(texts + [str([numbers[fetch.partition(":")[0]] for fetch in piece.fetches])])


def _reduction(piece: Piece, types: dict[str, _Made], parts: list[list[TensorId]]) -> Reduction | None:
    """Recognises a piece as a reduction by what it makes of made-up gradients.

    Any function of two numbers is some multiple of their sum: of gradients of few elements several are made up. So they
    are where a number is fed, as the rate of a weight decay: a factor on the gradients would be another each time.
    """
    few = min(int(np.prod(one.sizes)) for one in types.values()) < _FEW_ELEMENTS or bool(fed_numbers(piece))
    seeds = range(_SEED, _SEED + 1 + _MORE * few)
    found = [_reduction_of(piece, _made_up_gradients(types, seed), parts, seed / 8) for seed in seeds]
    return found[0] if all(_are_alike(one, found[0]) for one in found) else None


def _are_alike(one: Reduction | None, other: Reduction | None) -> bool:
    """Returns whether two results, of other numbers, are the same reduction."""
    if one is None or other is None:
        return one is other
    return one._replace(scale=other.scale) == other and abs(one.scale - other.scale) <= TOLERANCE * abs(other.scale)


def _reduction_of(
    piece: Piece, values: dict[str, np.ndarray], parts: list[list[TensorId]], number: float
) -> Reduction | None:
    """Evaluates a piece for made-up gradients of the towers and compares it with their sum and concatenation.

    Args:
      piece: the piece.
      values: {gradient's name: its made-up value}.
      parts: names of each tower's gradients.
      number: made-up value of the numbers that are fed.

    Returns:
      The reduction, or None.
    """
    try:
        result, affine = evaluate_piece(piece, values, number)
    except (tf.errors.OpError, ValueError, TypeError):
        return None
    towers = [sum_of([values[tensor_name(*tensor)].astype("float64") for tensor in tower]) for tower in parts]
    return reduction_of_values(result, towers, affine)


def _weights(piece: Piece, types: dict[str, _Made]) -> list[float] | None:
    """Evaluates a piece for made-up gradients of the towers, and fits a weighted sum of them to the result.

    A gradient of few elements is made up several times, so that there are more numbers than weights to fit.
    """
    size = min(int(np.prod(one.sizes)) for one in types.values())
    tries = [_made_up_gradients(types, seed) for seed in range(len(types) // max(size, 1) + 1)]
    try:
        results = [np.ravel(evaluate_piece(piece, values)[0]) for values in tries]
    except (tf.errors.OpError, ValueError, TypeError):
        return None
    columns = [np.concatenate([np.ravel(values[name]) for values in tries]).astype("float64") for name in types]
    result, given = np.concatenate(results), np.stack(columns, 1)
    if len(result) != len(given):
        return None
    found = np.linalg.lstsq(given, result, rcond=None)[0]
    is_exact = np.allclose(given @ found, result, rtol=TOLERANCE, atol=TOLERANCE * np.abs(result).max())
    return [float(np.round(weight, 6)) for weight in found] if is_exact else None


def _types(imported: ImportedGraph, parts: list[list[TensorId]], shape: list[int] | None) -> dict[str, _Made] | None:
    """{gradient's name: its type, with a size for each dimension}; None if the gradients' shapes are not alike."""
    tensors = [tensor for tower in parts for tensor in tower]
    shapes = [shape if own is None else own for own in (imported.shape(*tensor) for tensor in tensors)]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) != 1:
        return None
    given = [next((size for size in sizes if size is not None), None) for sizes in zip(*known)]
    fits = shape is not None and len(shape) == len(given) and all(a in (None, b) for a, b in zip(given, shape))
    others = shape if shape is not None and fits else [OPEN_DIMENSION] * len(given)
    sizes = [other if size is None else size for size, other in zip(given, others)]
    return {tensor_name(*tensor): _Made(sizes, imported.dtype(*tensor)) for tensor in tensors}


def _made_up_gradients(types: dict[str, _Made], seed: int) -> dict[str, np.ndarray]:
    """{gradient's name: small integers}, which float32 adds exactly."""
    rng = np.random.default_rng(seed)
    return {name: rng.integers(-64, 64, one.sizes, np.int8).astype(one.dtype) for name, one in types.items()}
