"""Proof of a source: one tower of the old graph and the written function, run on the same made-up numbers."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.source.basics.cut import Cut, cut_part, example_sizes
from legacy.source.step.derivatives import weight_gradients
from legacy.source.step.learning import find_counters
from legacy.source.step.towers import parts_of_tower
from legacy.towers.program import session_config
from workloads.frame import Frame
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.graph.sums import add_in_order
from workloads.lifted.made_up_data import BatchSize, made_up_sparse_tensor, sparse_groups
from workloads.lifted.pieces.piece import VariableVersion
from workloads.lifted.plan import indices_label
from workloads.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from legacy.source.step.input_names import InputNames
    from legacy.source.step.statistics import Proposal
    from workloads.initializers import Initializer
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan
    from workloads.program import Arrays

v1 = tf.compat.v1

#: Adds the parts of a gradient in their order.
IN_ORDER = tf.AggregationMethod.EXPERIMENTAL_TREE
#: Name of an op that adds a third part of a gradient, or a later one.
_THIRD_PART = re.compile(r"_gradient_sum(_\d+)?/AddN_1$")
#: Name of the loss among the results of a tower.
LOSS = "loss"
#: Examples of one tower, where the graph takes any number.
ROWS = 8
#: What a tower's loss is multiplied by, where that follows from all towers' results.
FACTOR = 0.5
_SUBTRACTS, _ADDS = ("AssignSub", "AssignSubVariableOp"), ("AssignAdd", "AssignAddVariableOp")


class Comparison(NamedTuple):
    """Results of one tower, computed by the old graph and by the written function.

    Attributes:
      differing: names of the results that differ by one bit or more: `LOSS`, a weight's gradient, a statistic.
      largest: the largest difference, relative to the largest entry of the result.
      in_any_order: whether a gradient has three or more parts, which TensorFlow adds in an order of its own by default.
    """

    differing: List[str]
    largest: float
    in_any_order: bool = False


class GivenFrame(Frame):
    """Answers a model with given values and random numbers.

    Args:
      values: {variable: tensor}.
      noises: {random stream: tensor}.
      replica: number of the tower.
      step: number of the step.
    """

    def __init__(
        self, values: Mapping[str, tf.Tensor], noises: Mapping[str, tf.Tensor], replica: int, step: int
    ) -> None:
        super().__init__("float32", 0, tf.constant(step, tf.int64), replica)
        self._values, self._noises = values, noises

    def variable(self, name: str, shape: tuple[int, ...], initializer: Initializer, trainable: bool) -> tf.Tensor:
        if tuple(self._values[name].shape) != tuple(shape):
            raise ValueError(f"{name}: {shape} in the source, {self._values[name].shape} in the old program")
        return self._values[name]

    def noise(self, name: str, shape: tuple[int, ...], kind: str = "uniform") -> tf.Tensor:
        return self._noises[name]


class Tower(NamedTuple):
    """One tower of a lift on made-up numbers.

    Attributes:
      plan: of the lift.
      graph: of the lift.
      values: {variable: array}.
      settings: {scalar input: value}.
      proposals: the statistics that it changes.
      number: of the tower.
      phase: the train op.
      names: of the inputs in the written function.
    """

    plan: Plan
    graph: Graph
    values: Arrays
    settings: Mapping[str, float]
    proposals: Sequence[Proposal]
    number: int
    phase: Phase
    names: InputNames


def compare_tower(tower: Tower, loss: Callable[[Scope, Dict[str, Any]], tf.Tensor]) -> Comparison:
    """Compares a written function with a tower: loss, gradients before any clipping, and statistics.

    Args:
      tower: the tower.
      loss: the function that was written, of a scope and a batch.

    Returns:
      The comparison.
    """
    phase = tower.phase
    gradients = weight_gradients(tower.plan, tower.graph, phase, tower.number)
    roles = {variable.name: variable.role for variable in tower.plan.variables}
    weights = [name for name in gradients if roles.get(name) == "weight"]  # the others are indices of rows
    data = _made_up(tower)
    old, noises = _old_results(tower, [gradients[name] for name in weights], data)
    by_rows = {name: indices_label(name) in gradients for name in weights}
    new, updates, in_any_order = _new_results(tower, by_rows, data, noises, loss)
    expected = dict(zip([LOSS, *weights], old))
    found = dict(zip([LOSS, *weights], new))
    parts = parts_of_tower(phase, tower.number)
    expected.update(zip(parts, old[len(old) - len(parts) :]))
    found.update(zip(parts, new[len(new) - len(parts) :]))
    scale = phase.loss_scale if phase.shared_loss else 1.0
    found.update((name, np.asarray(found[name] * scale, np.float32)) for name in weights if scale != 1.0)
    changes = old[1 + len(weights) :]
    rows = iter(changes[len(tower.proposals) :])
    for proposal, change in zip(tower.proposals, changes):
        before = tower.values[proposal.variable]
        expected[proposal.variable] = _changed(proposal, before, change, next(rows) if proposal.rows else None)
        found[proposal.variable] = updates[proposal.variable]
    differing = [name for name in expected if not np.array_equal(expected[name], found[name], equal_nan=True)]
    return Comparison(differing, max((_relative(expected[n], found[n]) for n in differing), default=0.0), in_any_order)


def _changed(proposal: Proposal, before: np.ndarray, change: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    """Returns a statistic after a change of all of it, or of some rows."""
    if rows is None:
        sign = -1 if proposal.op in _SUBTRACTS else 1 if proposal.op in _ADDS else 0
        return np.asarray(before + sign * change, before.dtype) if sign else change
    after = np.array(before)
    function = {"Sub": np.subtract.at, "Add": np.add.at}.get(proposal.op[-3:], np.ndarray.__setitem__)
    function(after, rows, change)
    return after


def _relative(one: np.ndarray, two: np.ndarray) -> float:
    if np.shape(one) != np.shape(two):
        return float("inf")
    largest = max(float(np.abs(one).max()), 1e-30)
    return float(np.abs(np.asarray(one, np.float64) - two).max()) / largest


def _made_up(tower: Tower) -> Arrays:
    """Returns {input of the plan: array} for one tower."""
    rng = np.random.RandomState(1 + tower.number)
    entries = tower.plan.inputs + tower.plan.common
    rows = tower.plan.batch or ROWS
    data: Arrays = {}
    for entry in [entry for entry in entries if not entry.sparse]:
        if entry.kind == "setting":
            data[entry.name] = np.asarray(tower.settings[entry.name], entry.dtype)
            continue
        shape = [rows, *example_sizes(entry)]
        limit = max(entry.limit or 2, entry.low + 1)
        drawn = rng.randint(entry.low, limit, shape) if "int" in entry.dtype else rng.random_sample(shape)
        data[entry.name] = np.asarray(drawn, entry.dtype)
    for parts in sparse_groups(entries).values():
        data.update(made_up_sparse_tensor(parts, BatchSize(rows, tower.plan.towers), rng))
    return data


def _old_results(tower: Tower, gradients: Sequence[str], data: Arrays) -> Tuple[List[np.ndarray], Arrays]:
    """Returns what the old graph computes, and {random stream: the numbers that it was given}."""
    plan, phase = tower.plan, tower.phase
    entries = plan.inputs + plan.common
    cuts = [entry.tensors[min(tower.number, len(entry.tensors) - 1)] for entry in entries]
    fetches = [phase.losses[tower.number], *gradients, *(p.value for p in tower.proposals)]
    fetches += [proposal.rows for proposal in tower.proposals if proposal.rows]
    fetches += parts_of_tower(phase, tower.number)
    returned = phase.returns[tower.number] if any(phase.returns) else []
    cut: Cut = cut_part(plan, tower.graph, fetches, [*cuts, *returned], phase.versions)
    noises: Arrays = {}
    with tf.Graph().as_default() as graph, v1.Session(config=session_config(["CPU:0"], True)) as session:
        names = [name if ":" in name else name + ":0" for name in cut.fetches]
        graph_def = copy.deepcopy(cut.piece.graph_def)
        add_in_order(graph_def)
        results = import_graph(graph_def, fetches=names, subject="graph file")
        fed: Dict[tf.Tensor, Any] = {}
        drawn = []
        for feed in cut.piece.feeds:
            tensor = graph.get_tensor_by_name(feed.placeholder + ":0")
            if isinstance(feed.key, VariableVersion):
                fed[tensor] = tower.values[feed.key.variable]
            elif feed.key in returned:
                fed[tensor] = FACTOR
            elif feed.kind == "drawn":
                drawn.append((feed, tensor))
            else:
                fed[tensor] = next(data[entry.name] for entry in entries if feed.key in entry.tensors)
        for feed, tensor in drawn:
            stream = next(e.name for e in plan.noise if str(feed.key).partition(":")[0] in e.nodes)
            shape = _noise_shape(session, cut, feed.placeholder, tensor, fed)
            shape = [size or tower.plan.batch or ROWS for size in shape]
            values = np.asarray(np.random.RandomState(2).random_sample(shape), np.float32)
            noises[tower.names.streams[stream]] = fed[tensor] = values
        return session.run(results, fed), noises


def _noise_shape(
    session: tf.compat.v1.Session, cut: Cut, placeholder: str, tensor: tf.Tensor, fed: Mapping[tf.Tensor, Any]
) -> List[int]:
    """Returns the shape of random numbers: the placeholder's, or what the graph computes for it from what is fed."""
    if placeholder not in cut.noise_shapes:
        return list(tensor.shape.as_list())
    source = cut.noise_shapes[placeholder]
    shape = session.graph.get_tensor_by_name(source if ":" in source else source + ":0")
    return [int(size) for size in session.run(shape, fed)]


def _new_results(
    tower: Tower,
    by_rows: Mapping[str, bool],
    data: Arrays,
    noises: Arrays,
    loss: Callable[[Scope, Dict[str, Any]], tf.Tensor],
) -> Tuple[List[np.ndarray], Arrays, bool]:
    """Returns what the written function computes, {statistic: its new value}, and `Comparison.in_any_order`.

    Of the weights in `by_rows` the gradients are computed; of those with true, the rows' values if there are rows.
    """
    with tf.Graph().as_default(), v1.Session(config=session_config(["CPU:0"], True)) as session:
        fed: Dict[tf.Tensor, np.ndarray] = {}

        def given(value: np.ndarray) -> tf.Tensor:
            """Returns a placeholder: a graph of constants would be computed by other kernels, before it is run."""
            holder = v1.placeholder(value.dtype, value.shape)
            fed[holder] = value
            return holder

        tensors = {name: given(np.asarray(value)) for name, value in tower.values.items() if value.dtype.kind != "O"}
        counts = [int(tower.values[name]) for name in find_counters(tower.phase, ImportedGraph(tower.graph))]
        drawn = {name: given(value) for name, value in noises.items()}
        frame = GivenFrame(tensors, drawn, tower.number, next(iter(counts), 0))
        batch = {}
        for name, entry in tower.names.inputs.items():
            value = data[entry.name]
            batch[name] = given(value.astype(np.int32) if value.dtype.kind == "i" else value)
        results = loss(Scope(frame), batch)
        result, *parts = results if isinstance(results, (list, tuple)) else [results]
        factor = tf.constant(FACTOR if any(tower.phase.returns) else 1.0)
        values = [tensors[name] for name in by_rows]
        made = v1.gradients(result, values, factor, aggregation_method=IN_ORDER, unconnected_gradients="zero")
        in_any_order = any(_THIRD_PART.search(op.name) for op in session.graph.get_operations())
        rows = by_rows.values()
        shown = [g.values if row and isinstance(g, tf.IndexedSlices) else g for g, row in zip(made, rows)]
        new = session.run([result, *(tf.convert_to_tensor(gradient) for gradient in shown), *parts], fed)
        return new, {name: session.run(value, fed) for name, value in frame.updates.items()}, in_any_order
