"""Proof of a source: one tower of the old graph and the written function, run on the same made-up numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.source.made_up_tower import FACTOR, Tower, made_up_data, old_results, value_of
from legacy.source.step.derivatives import weight_gradients
from legacy.source.step.learning import find_counters
from legacy.source.step.towers import parts_of_tower
from legacy.towers.program import session_config
from workloads.frame import Frame
from workloads.lifted.plan import indices_label
from workloads.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from legacy.source.step.statistics import Proposal
    from workloads.initializers import Initializer
    from workloads.program import Arrays

v1 = tf.compat.v1

#: Adds the parts of a gradient in their order.
IN_ORDER = tf.AggregationMethod.EXPERIMENTAL_TREE
#: Name of an op that adds a third part of a gradient, or a later one.
_THIRD_PART = re.compile(r"_gradient_sum(_\d+)?/AddN_1$")
#: Name of the loss among the results of a tower.
LOSS = "loss"
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


def compare_tower(
    tower: Tower,
    loss: Callable[[Scope, Dict[str, Any]], tf.Tensor],
    loss_of_all: Callable[[Sequence[tf.Tensor]], tf.Tensor] | None = None,
) -> Comparison:
    """Compares a written function with a tower: loss, gradients before any clipping, and statistics.

    Args:
      tower: the tower.
      loss: the function that was written, of a scope and a batch.
      loss_of_all: the function of all towers' losses that is minimized, if that is none of their sums.

    Returns:
      The comparison.
    """
    phase = tower.phase
    gradients = weight_gradients(tower.plan, tower.graph, phase, tower.number)
    roles = {variable.name: variable.role for variable in tower.plan.variables}
    weights = [name for name in gradients if roles.get(name) == "weight"]  # the others are indices of rows
    data = {n: made_up_data(tower, n) for n in (range(tower.plan.towers) if loss_of_all else [tower.number])}
    old, noises = old_results(tower, [gradients[name] for name in weights], data)
    by_rows = {name: indices_label(name) in gradients for name in weights}
    new, updates, in_any_order = _new_results(tower, by_rows, data, noises, loss, loss_of_all)
    expected = dict(zip([LOSS, *weights], old))
    found = dict(zip([LOSS, *weights], new))
    parts = parts_of_tower(phase, tower.number)
    expected.update(zip(parts, old[len(old) - len(parts) :]))
    found.update(zip(parts, new[len(new) - len(parts) :]))
    scale = phase.loss_scale if phase.shared_loss and not loss_of_all else 1.0
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


def _new_results(
    tower: Tower,
    by_rows: Mapping[str, bool],
    data: Mapping[int, Arrays],
    noises: Mapping[int, Arrays],
    loss: Callable[[Scope, Dict[str, Any]], tf.Tensor],
    loss_of_all: Callable[[Sequence[tf.Tensor]], tf.Tensor] | None,
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
        frames, results = {}, {}
        for number in data:
            drawn = {name: given(value) for name, value in noises[number].items()}
            frames[number] = GivenFrame(tensors, drawn, number, next(iter(counts), 0))
            batch = {}
            for name, entry in tower.names.inputs.items():
                value = value_of(entry, number, data)
                batch[name] = given(value.astype(np.int32) if value.dtype.kind == "i" else value)
            made = loss(Scope(frames[number]), batch)
            results[number] = list(made) if isinstance(made, (list, tuple)) else [made]
        result, *parts = results[tower.number]
        if loss_of_all is not None:
            losses = [results[number][0] for number in sorted(results)]
            (factor,) = v1.gradients(loss_of_all(losses), [result])
        else:  # a loss may be a vector, whose sum is minimized
            factor = tf.fill(tf.shape(result), FACTOR if any(tower.phase.returns) else 1.0)
        values = [tensors[name] for name in by_rows]
        made = v1.gradients(result, values, factor, aggregation_method=IN_ORDER, unconnected_gradients="zero")
        in_any_order = any(_THIRD_PART.search(op.name) for op in session.graph.get_operations())
        rows = by_rows.values()
        shown = [g.values if row and isinstance(g, tf.IndexedSlices) else g for g, row in zip(made, rows)]
        computed = [result, *(tf.convert_to_tensor(gradient) for gradient in shown), *parts]
        new, updates = session.run([computed, frames[tower.number].updates], fed)  # at once: a random op draws once
        return new, updates, in_any_order
