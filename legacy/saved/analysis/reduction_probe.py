"""Reduction probe: recognises how the towers' gradients are combined by evaluating that part of the graph.

Old programs average in a dozen ways (concat and reduce_mean, stack, add_n and divide, a chain of adds). One probe
recognises all of them: it feeds numbers in place of the towers' gradients, evaluates the tensor in which they meet,
and compares it with the numbers' sum and concatenation.
"""

from __future__ import annotations

import collections
import functools
import operator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.meeting_tensors import linear_chain, meeting_tensors
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId, tensor_name
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.pieces.piece import Feed, Piece
from workloads.lifted.plan import Combine

v1 = tf.compat.v1
#: Relative tolerance within which a reduction is a multiple of the sum; float32 gradients are summed in any order.
TOLERANCE = 1e-5
#: A scale this near to an integer is that integer.
INTEGER_TOLERANCE = 1e-6
#: Dimension that the probe uses where a gradient's shape is open.
OPEN_DIMENSION = 3


class Reduction(NamedTuple):
    """A recognised reduction.

    Attributes:
      kind: "mean", "sum" or "concat".
      scale: factor on the sum or on the concatenation; 1 for a mean.
      affine: whether a term that no tower computes is added, such as a weight decay outside the towers.
    """

    kind: str
    scale: float
    affine: bool


def recognise_reduction(
    graph: Graph,
    cutter: Cutter,
    imported: ImportedGraph,
    weight: str,
    target: TensorId,
    parts: list[list[TensorId]],
    tower_nodes: dict[str, int],
    shape: list[int] | None,
    known: dict[str, Reduction | None] | None = None,
) -> Combine:
    """Recognises how the towers' gradients of one variable are combined.

    Args:
      graph: the cut graph.
      cutter: cuts the part that is evaluated out of the graph.
      imported: the graph as TensorFlow imports it.
      weight: label of the gradient in the plan: the variable, and " (indices)" for a sparse gradient's rows.
      target: the tensor that the update rule gets.
      parts: for each tower, its gradients; see `meeting_tensors.nearest_tensors`.
      tower_nodes: {node: tower}.
      shape: the variable's shape, used where a gradient's is not known.
      known: what was recognised for other variables, by outline; it is added to.

    Returns:
      The `Combine`: of the last tensor before the update rule that is nothing but a reduction of the towers' gradients,
      or of kind "kept as written" with the update rule's gradient itself.
    """
    names = [[tensor_name(*tensor) for tensor in tower] for tower in parts]
    written = Combine(weight, "kept as written", tensor_name(*target), 1.0, names)
    flat = [tensor for tower in parts for tensor in tower]
    if not flat or len({len(tower) for tower in parts}) != 1:
        return written
    for meeting in meeting_tensors(graph, flat, target, tower_nodes):
        found = written
        for tensor in linear_chain(graph, imported, meeting, target):
            reduction = _probe(cutter, imported, tensor, parts, shape, {} if known is None else known)
            if reduction is not None:
                found = Combine(weight, reduction.kind, tensor_name(*tensor), reduction.scale, names, reduction.affine)
        if found is not written:
            return found
    return written


def _probe(
    cutter: Cutter,
    imported: ImportedGraph,
    meeting: TensorId,
    parts: list[list[TensorId]],
    shape: list[int] | None,
    known: dict[str, Reduction | None],
) -> Reduction | None:
    """Recognises a tensor as a reduction of the towers' gradients; a like one among those `known` is not run again."""
    values = _made_up_gradients(imported, parts, shape)
    if values is None:
        return None
    piece = cutter.piece([tensor_name(*meeting)], list(values))
    outline = _outline(piece, values)
    if outline not in known:
        known[outline] = _reduction(piece, values, parts)
    return known[outline]


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
        result, affine = _evaluate(piece, values)
    except (tf.errors.OpError, ValueError, TypeError):
        return None
    towers = [_sum([values[tensor_name(*tensor)].astype("float64") for tensor in tower]) for tower in parts]
    return _compare(result, towers, affine)


def _sum(arrays: list[np.ndarray]) -> np.ndarray:
    return functools.reduce(operator.add, arrays)


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


def _compare(result: np.ndarray, towers: list[np.ndarray], affine: bool) -> Reduction | None:
    """Recognises a result as a reduction of the towers' values.

    Args:
      result: what the graph computes from them, less what it computes from zeros.
      towers: float64; for each tower, the sum of its parts.
      affine: whether the graph computes something else than zero from zeros.

    Returns:
      The reduction, or None if it is neither a multiple of the sum nor of the concatenation.
    """
    added = _sum(towers)
    if result.shape == added.shape and added.size:
        scale = _multiple(result, added)
        if scale is not None:
            mean = len(towers) > 1 and abs(scale * len(towers) - 1) < TOLERANCE
            return Reduction("mean", 1.0, affine) if mean else Reduction("sum", scale, affine)
    joined = np.concatenate(towers, 0) if np.ndim(added) else None
    if joined is not None and result.shape == joined.shape and not affine:
        scale = _multiple(result, joined)
        return None if scale is None else Reduction("concat", scale, False)
    return None


def _multiple(result: np.ndarray, reference: np.ndarray) -> float | None:
    """The c other than zero for which the result is c times the reference, to rounding; None if there is none."""
    norm = float((reference * reference).sum())
    if norm == 0.0:
        return None
    scale = float((result * reference).sum()) / norm
    largest = np.abs(reference).max()
    close = np.allclose(result, scale * reference, rtol=TOLERANCE, atol=TOLERANCE * largest * abs(scale))
    if not close or not scale:
        return None
    return float(round(scale)) if abs(scale - round(scale)) <= INTEGER_TOLERANCE else float(np.round(scale, 12))


def _evaluate(piece: Piece, values: dict[str, np.ndarray]) -> tuple[np.ndarray, bool]:
    """Evaluates a piece's tensor for the given values of others, with made-up values of the variables.

    Returns:
      (the result for `values` less the result for zeros, float64; whether the latter is not zero).

    Raises:
      ValueError: the tensor depends on more than the given tensors and variables.
    """
    rng = np.random.RandomState(11)
    with tf.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 1})) as session:
        (tensor,) = import_graph(piece.graph_def, fetches=piece.fetches, subject="graph file")
        given, zeros = {}, {}
        for feed in piece.feeds:
            holder = session.graph.get_tensor_by_name(feed.placeholder + ":0")
            given[holder] = values[str(feed.key)] if feed.kind == "cut" else _made_up_value(feed, holder, rng)
            zeros[holder] = np.zeros_like(given[holder]) if feed.kind == "cut" else given[holder]
        result = np.asarray(session.run(tensor, given), "float64")
        if all(feed.kind == "cut" for feed in piece.feeds):
            return result, False
        offset = np.asarray(session.run(tensor, zeros), "float64")
        return result - offset, bool(offset.any())


def _made_up_value(feed: Feed, holder: tf.Tensor, rng: np.random.RandomState) -> np.ndarray:
    """A value between one half and one for a variable."""
    if feed.kind != "read" or not holder.shape.is_fully_defined():
        raise ValueError("depends on more than gradients and variables")
    return rng.uniform(0.5, 1, holder.shape).astype(holder.dtype.as_numpy_dtype)
