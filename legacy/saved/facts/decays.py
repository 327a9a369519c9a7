"""Decays of moving averages and statistics: the part of its old value that an update keeps, found by evaluating it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.pieces.piece import Feed, Piece, VariableVersion
from workloads.lifted.plan import Effect, Phase, effects_by_variable
from workloads.support.errors import InputError

v1 = tf.compat.v1
#: Steps at which a decay that grows with the step is evaluated: the later ones in turn, until one gives a decay, since
#: a schedule that multiplies an int32 counter by a batch size overflows at the first.
EARLY, LATE = 0, (10**9, 10**8, 10**7, 10**6)
#: Differences up to this are rounding.
TOLERANCE = 1e-5


class Decays:
    """Finds decays; updates that are computed alike are evaluated once.

    Args:
      cutter: cuts functions out of the graph.
      given: names of tensors that are made in the towers of data or weights; see `not_constant`.
      addend: function from an update to the constant that it adds to its variable; None for others.
    """

    def __init__(self, cutter: Cutter, given: Iterable[str], addend: Callable[[Effect], float | None]) -> None:
        self._cutter, self._addend = cutter, addend
        self._given = frozenset(parse_tensor_name(name) for name in given)
        self._known: dict[tuple[object, ...], str] = {}
        self._texts: dict[str, str] = {}
        self._changes: dict[str, dict[str, list[Effect]]] = {}  # {train op: {variable: its updates}}

    def text(self, phase: Phase, effect: Effect) -> str:
        """Returns the decay of an update in words.

        Args:
          phase: a train op's run.
          effect: an update of it.

        Returns:
          Such as "0.99", or "0.1 at step 0, later 0.999"; "-" if it has none. A counter that the run has raised before
          the update reads it counts as raised.
        """
        if not effect.op.startswith("Assign") or len(effect.values) != 1 or effect.condition is not None:
            return "-"
        if effect.node not in self._texts:
            self._texts[effect.node] = self._found(phase, effect)
        return self._texts[effect.node]

    def _found(self, phase: Phase, effect: Effect) -> str:
        """Returns the decay of an assignment of one value."""
        piece = self._cutter.piece([effect.values[0]], self._given, phase.versions)
        nodes = [(node.op, node.attr["value"].SerializeToString()) for node in piece.graph_def.node]
        roles = [(feed.kind, feed.kind == "read" and _variable(feed) == effect.writes[0]) for feed in piece.feeds]
        integers = {node.name for node in piece.graph_def.node if tf.as_dtype(node.attr["dtype"].type or 1).is_integer}
        raised = [self._raised(phase, feed, feed.placeholder in integers) for feed in piece.feeds]
        key = (effect.op, *nodes, *roles, *raised)
        if key not in self._known:
            self._known[key] = _decay_text(effect, piece, raised)
        return self._known[key]

    def _raised(self, phase: Phase, feed: Feed, is_integer: bool) -> float | None:
        """The amount by which a run has raised a counter before it is read; None for what is no counter.

        A float that the run changes otherwise than by a constant is none, such as a weight whose average is taken.
        """
        if not isinstance(feed.key, VariableVersion) or feed.shape != ():
            return None
        if phase.train_op not in self._changes:
            self._changes[phase.train_op] = effects_by_variable(phase.effects)
        changes = self._changes[phase.train_op].get(feed.key.variable, [])
        added = [self._addend(effect) for effect in changes]
        return None if None in added and not is_integer else sum(filter(None, added[: feed.key.version]))


def not_constant(graph: Graph, names: Iterable[str]) -> list[str]:
    """Returns, sorted, those of some tensors that do not follow from constants alone, such as the axes of a mean.

    An evaluation gives zeros for what is made in the towers: for a constant they would be another program.
    """
    nodes = {name: parse_tensor_name(name).node for name in names}
    before = graph.ancestors(nodes.values(), controls=False)
    sources = {node: 1 for node in before if not graph.inputs(node) and graph.type(node) != "Const"}
    arriving = graph.flow(graph.order(before), sources, controls=False)
    return sorted(name for name, node in nodes.items() if arriving[node] or node in sources)


def taken_beside(graph: Graph, imported: ImportedGraph, effects: Iterable[Effect]) -> set[str]:
    """Finds the arrays that assignments combine with the old value of their variable, such as a batch's mean.

    What makes them need not be evaluated to find a decay, as where the update runs a model. A number may be a decay.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      effects: updates of variables.

    Returns:
      Their names.
    """
    found = set()
    for effect in [one for one in effects if one.op.startswith("Assign") and one.condition is None]:
        after = graph.descendants(effect.writes[:1], controls=False)
        before = graph.ancestors([parse_tensor_name(str(value)).node for value in effect.values], controls=False)
        taken = {tensor for name in before & after for tensor in graph.inputs(name) if tensor.node not in after}
        found |= {tensor.name for tensor in taken if all(imported.shape(*tensor) or (0,))}
    return found


def _variable(feed: Feed) -> str:
    return feed.key.variable if isinstance(feed.key, VariableVersion) else ""


def _decay_text(effect: Effect, piece: Piece, raised: Sequence[float | None]) -> str:
    try:
        early = _kept(effect, piece, _counts(EARLY, raised))
        later = (None if early is None else _kept(effect, piece, _counts(step, raised)) for step in LATE)
        late = next((kept for kept in later if kept), None)
    except (tf.errors.OpError, ValueError, TypeError, InputError):
        return "-"
    if early is None or not late:
        return "-"
    return f"{late:g}" if abs(early - late) < TOLERANCE else f"{early:g} at step {EARLY}, later {late:g}"


def _counts(step: int, raised: Sequence[float | None]) -> list[float]:
    """The values of the feeds that are counters at a step; 0 for others."""
    return [0.0 if by is None else step + by for by in raised]


def _kept(effect: Effect, piece: Piece, counts: Sequence[float]) -> float | None:
    """The change of an update's result when the old value changes from 0 to 1; None if that is no decay, nor 0.

    From 1 to 2 a decay changes the result as much: a normalization, as of a vector to unit length, does not.
    `counts` has the value of each feed that is a counter, and 0 for others.
    """
    results = []
    with tf.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 1})) as session:
        (tensor,) = import_graph(piece.graph_def, fetches=piece.fetches, subject="graph file")
        for old in (0.0, 1.0, 2.0):
            feeds = {}
            for feed, count in zip(piece.feeds, counts):
                holder = session.graph.get_tensor_by_name(feed.placeholder + ":0")
                own = _variable(feed) == effect.writes[0]
                value = old if own else count
                sizes = [size or 1 for size in feed.shape or ()]
                limit = np.iinfo(holder.dtype.as_numpy_dtype).max if holder.dtype.is_integer else value
                feeds[holder] = np.full(sizes, min(value, limit)).astype(holder.dtype.as_numpy_dtype)
            result = np.asarray(session.run(tensor, feeds), np.float64)
            sign = -1 if "Sub" in effect.op else 1 if "Add" in effect.op else 0
            results.append(old + sign * result if sign else result)
    with np.errstate(invalid="ignore"):  # of a schedule that overflows
        first, second = results[1] - results[0], results[2] - results[1]
    change = np.unique(np.round(first, 7))
    is_linear = np.allclose(first, second, rtol=0, atol=TOLERANCE)
    kept = float(change[0]) if change.size == 1 and is_linear else 1.0
    if abs(kept) < TOLERANCE:
        return 0.0
    return kept if TOLERANCE < kept < 1 - TOLERANCE / 10 else None
