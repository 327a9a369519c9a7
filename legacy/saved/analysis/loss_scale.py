"""Weight of each tower's loss in what a step differentiates: 1, or 1/N of a mean over N towers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.loss_terms import term_weights
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.pieces.piece import Piece
from workloads.lifted.plan import Plan

v1 = tf.compat.v1

#: Ops that half of a loss may be written for: 1/2 (y - p)^2.
SQUARES = ("Square", "SquaredDifference", "L2Loss", "Pow")
#: Ops that a loss may be made of its squares by: sums, means and weights of them.
FROM_SQUARES = {*op_types.LINEAR, "Mul", "RealDiv", "Div", "Select", "SelectV2"}
#: Ops behind which a mean of terms is one of the elements: of examples, with the other sign, or the larger of two.
_OF_SUMS = ("Identity", "Neg", "Mean", "Maximum", "Minimum")
#: Relative difference up to which a constant factor on a loss counts as one over the number of towers.
SCALE_TOLERANCE = 1e-6


def loss_scale(
    graph: Graph,
    imported: ImportedGraph,
    towers: Towers,
    cutter: Cutter,
    members: Collection[str],
    losses: Sequence[TensorId],
    combined: Collection[float] = (),
    others: Sequence[Sequence[TensorId]] = (),
) -> float:
    """Returns the weight of each tower's loss in what is differentiated.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      towers: its towers.
      cutter: takes functions out of the graph.
      members: nodes that one train op runs.
      losses: see `find_losses`.
      combined: factors by which sums of the towers' gradients are multiplied.
      others: further rows of losses.

    Returns:
      1/N for a mean of N towers' losses, or for losses that are divided by N before they are differentiated; the
      derivative by the first tower's loss for anything else that is made from all losses; a constant factor on the
      losses that the combining takes back, but for 1/N; otherwise 1. Of a loss that is maximized it is negative.
    """
    if not losses:
        return 1.0
    for target in differentiated(graph, members):
        if towers.is_shared(target):
            given = [tensor for row in (losses, *others) for tensor in row]
            scale = _derivative(cutter, TensorId(target, 0), given)
            return term_weights(graph, towers, target).get(losses[0], 1.0) if scale is None else scale
    for factor in _constant_factors(graph, imported, losses[0].node):
        if any(abs(abs(factor) * scale * towers.count - 1) < SCALE_TOLERANCE for scale in {1.0, *combined}):
            return factor
    return 1.0


def may_be_its_own(
    graph: Graph, data: Collection[str], loss: str, towers: int, sizes: Collection[int | None] = ()
) -> bool:
    """Returns whether a loss's factor of 1/N may have another meaning: a mean of N terms, half of a square, a weight.

    Args:
      graph: the subgraph that a step runs.
      data: its nodes that depend on data.
      loss: the node of a tower's loss.
      towers: number of towers.
      sizes: sizes of the towers' inputs, see `sizes_of_inputs`: a sum over N examples or times that is divided by N is
        a mean over these.

    Returns:
      The answer.
    """
    if {towers, None}.intersection(sizes) and has_sum(graph, data, loss, divided_once=True):
        return True
    sums = [tensor.node for tensor in graph.inputs(loss) if graph.type(tensor.node) in op_types.ADDITIONS]
    terms = [term for name in sums for term in _terms(graph, data, name)]
    is_mean = any(_is_sum_of(graph, data, name, towers) for name in _sums_behind(graph, data, loss))
    is_mean = is_mean or _is_mean_of_differences(graph, data, loss, towers)
    if is_mean or (towers == 2 and graph.type(loss) == "Mul"):
        return True
    return towers == 2 and all(_is_of_squares(graph, data, term) for term in terms or [loss])


def _sums_behind(graph: Graph, data: Collection[str], loss: str) -> list[str]:
    """Returns the sums that a loss is a multiple or a mean of, perhaps the larger of, or with the other sign."""
    found, todo, seen = [], [loss], {loss}
    while todo:
        before = [tensor.node for tensor in graph.inputs(todo.pop()) if tensor.node in data and tensor.node not in seen]
        seen.update(before)
        found += [name for name in before if graph.type(name) in op_types.ADDITIONS]
        todo += [name for name in before if graph.type(name) in _OF_SUMS]
    return found


def _is_sum_of(graph: Graph, data: Collection[str], name: str, count: int) -> bool:
    """Returns whether a node adds up so many terms of data without a weight, perhaps beside some that have one."""
    return sum(not _has_weight(graph, term) for term in _terms(graph, data, name)) == count


def _is_mean_of_differences(graph: Graph, data: Collection[str], loss: str, count: int) -> bool:
    """Returns whether a loss is a multiple of -a - b, of so many terms, as where two likelihoods are averaged.

    A difference in a mean over examples, as in a margin of two distances, is no sum of losses.
    """
    before = [tensor.node for tensor in graph.inputs(loss) if tensor.node in data]
    while len(before) == 1 and graph.type(before[0]) in ("Identity", "Neg"):
        before = [tensor.node for tensor in graph.inputs(before[0]) if tensor.node in data]
    terms = _terms(graph, data, before[0], (*op_types.ADDITIONS, "Sub")) if len(before) == 1 else []
    return len(terms) == count and not any(_has_weight(graph, term) for term in terms)


def _terms(
    graph: Graph, data: Collection[str], name: str, additions: Collection[str] = op_types.ADDITIONS
) -> list[str]:
    """Returns the terms of a sum, also of sums in it, that depend on data.

    Args:
      graph: the subgraph that a step runs.
      data: its nodes that depend on data.
      name: of the sum.
      additions: op types that add up their inputs.
    """
    found, todo = [], [name]
    while todo:
        term = todo.pop()
        if graph.type(term) in additions:
            todo += [tensor.node for tensor in reversed(graph.inputs(term)) if tensor.node in data]
        else:
            found.append(term)
    return found


def _has_weight(graph: Graph, term: str) -> bool:
    """Returns whether a term of a sum is a constant times another value, so that no mean is made of the terms."""
    return graph.type(term) == "Mul" and any(graph.type(tensor.node) == "Const" for tensor in graph.inputs(term))


def _is_of_squares(graph: Graph, data: Collection[str], loss: str) -> bool:
    """Returns whether a loss has a term of squares: those inside of the model, as of a variance, are none."""
    todo, seen = [loss], {loss}
    while todo:
        name = todo.pop()
        if graph.type(name) in SQUARES:
            return True
        if graph.type(name) in FROM_SQUARES:
            before = {tensor.node for tensor in graph.inputs(name) if tensor.node in data} - seen
            seen |= before
            todo += before
    return False


def sizes_of_inputs(plan: Plan) -> set[int | None]:
    """Returns the numbers of the towers' examples or times: sizes along the first dimension, and the second of three.

    None is among them for an open one.
    """
    names = [name for entry in plan.inputs if entry.kind != "setting" for name in entry.tensors]
    shapes = [plan.tensors[name].shape for name in names if name in plan.tensors]
    return {size for shape in shapes if shape for size in (shape[:2] if len(shape) > 2 else shape[:1])}


def has_sum(graph: Graph, data: Collection[str], loss: str, divided_once: bool = False) -> bool:
    """Returns whether a loss is a linear function of a sum of data, other than one that is divided by their number.

    Args:
      graph: the subgraph that a step runs.
      data: its nodes that depend on data.
      loss: the node of a loss.
      divided_once: whether a sum counts only where one quotient at the most is made of it: the inner one of two may
        divide it by the number of examples.

    Returns:
      The answer.
    """
    todo, seen = [(loss, False)], {loss}
    while todo:
        name, is_divided = todo.pop()
        kind = graph.type(name)
        if kind == "Sum":
            return True
        is_quotient = kind in op_types.DIVISIONS
        if divided_once and is_divided and is_quotient:
            continue
        if is_quotient or kind in ("Mul", "Sub", "Neg", "Identity", *op_types.ADDITIONS):
            before = {tensor.node for tensor in graph.inputs(name) if tensor.node in data}
            before = set() if len(before) > 1 and (is_quotient or kind == "Mul") else before - seen
            seen |= before
            todo += [(one, is_divided or is_quotient) for one in before]
    return False


def _constant_factors(graph: Graph, imported: ImportedGraph, name: str) -> Iterator[float]:
    """Yields the constants that a product or a quotient multiplies by: c for x * c, 1 / c for x / c."""
    if graph.type(name) not in ("RealDiv", "Div", "Mul"):
        return
    for tensor in graph.inputs(name):
        value = imported.constant(*tensor)
        if value is not None and np.ndim(value) == 0 and value:
            yield float(value) if graph.type(name) == "Mul" else 1.0 / float(value)


def _derivative(cutter: Cutter, target: TensorId, losses: Sequence[TensorId]) -> float | None:
    """Returns the change of `target` when all elements of the first loss change from 0 to 1, the others at 0.

    If the function cannot be run, as where it depends on data besides, None.
    """
    piece = cutter.piece([target.name], [loss.name for loss in losses])
    with tf.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 1})) as session:
        (tensor,) = import_graph(piece.graph_def, fetches=piece.fetches, subject="graph file")
        results = []
        for value in (0.0, 1.0):
            feed = _constant_feed(session.graph, piece, losses[0].name, value)
            try:
                results.append(float(np.sum(session.run(tensor, feed))))
            except (tf.errors.OpError, ValueError):
                return None
    return results[1] - results[0]


def _constant_feed(graph: tf.Graph, piece: Piece, key: str, value: float) -> dict[tf.Tensor, np.ndarray]:
    """Returns {placeholder: an array full of `value` for the input `key`, of 0 for others}; unknown sizes are 1."""
    feed = {}
    for entry in piece.feeds:
        placeholder = graph.get_tensor_by_name(entry.placeholder + ":0")
        feed[placeholder] = np.full([size or 1 for size in entry.shape or ()], value if entry.key == key else 0.0)
    return feed
