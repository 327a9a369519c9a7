"""Evaluation of a piece of a saved graph on given values, less what it gives for zeros."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.piece import Feed, Piece

v1 = tf.compat.v1


def fed_numbers(piece: Piece) -> list[str]:
    """Returns the names of a piece's scalar placeholders that are none of its feeds, such as a fed rate of decay."""
    fed = {feed.placeholder for feed in piece.feeds}
    nodes = [node for node in piece.graph_def.node if node.op == "Placeholder" and node.name not in fed]
    is_number = [tf.as_dtype(n.attr["dtype"].type).is_floating and not n.attr["shape"].shape.dim for n in nodes]
    return [node.name for node, floating in zip(nodes, is_number) if floating]


def evaluate_piece(piece: Piece, values: dict[str, np.ndarray], number: float | None = None) -> tuple[np.ndarray, bool]:
    """Evaluates a piece's tensor for the given values of others, with made-up values of the variables.

    Args:
      piece: with one tensor to compute.
      values: {tensor that is given: its value}.
      number: the value of each of `fed_numbers`; None refuses a piece that needs one.

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
        numbers = fed_numbers(piece) if number is not None else []
        for name in numbers:
            holder = session.graph.get_tensor_by_name(name + ":0")
            given[holder] = zeros[holder] = np.asarray(number, holder.dtype.as_numpy_dtype)
        result = np.asarray(session.run(tensor, given), "float64")
        if not numbers and all(feed.kind == "cut" for feed in piece.feeds):
            return result, False
        offset = np.asarray(session.run(tensor, zeros), "float64")
        return result - offset, bool(offset.any())


def _made_up_value(feed: Feed, holder: tf.Tensor, rng: np.random.RandomState) -> np.ndarray:
    """A value between one half and one for a variable."""
    if feed.kind != "read" or not holder.shape.is_fully_defined():
        raise ValueError("depends on more than gradients and variables")
    return rng.uniform(0.5, 1, holder.shape).astype(holder.dtype.as_numpy_dtype)
