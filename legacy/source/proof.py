"""Proof of a source: one tower of the old graph and the written function, run on the same numbers."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph.imported import imported_graph
from legacy.source.given_scope import GivenFrame, GivenScope
from legacy.source.gradient_rows import sums_of_reordered_rows
from legacy.source.made_up_tower import LARGER, ROWS, Tower, value_of
from legacy.source.named_results import LOSS, differences, new_named, old_named, with_differences
from legacy.source.old_tower import FACTOR, run_tower
from legacy.source.step.derivatives import SUM_OF_ROWS, weight_gradients
from legacy.source.step.learning import find_counters
from legacy.source.step.losses_of_weights import loss_scales, losses_of_weights
from legacy.towers.program import session_config
from workloads.lifted.made_up_data import part_of_whole
from workloads.lifted.plan import indices_label
from workloads.numerics import gradient_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workloads.program import Arrays
    from workloads.scope import Scope

v1 = tf.compat.v1

#: Name of an op that adds a third part of a gradient, or a later one.
_THIRD_PART = re.compile(r"_gradient_sum(_\d+)?/AddN_1$")


class Comparison(NamedTuple):
    """Results of one tower, computed by the old graph and by the written function.

    Attributes:
      differing: names of the results that differ by one bit or more: `LOSS`, a weight's gradient, a statistic.
      largest: the largest difference, relative to the largest entry of the result.
      in_any_order: whether a gradient has three or more parts, which TensorFlow adds in an order of its own by default.
      asked: the weights, in the order in which the written function has asked for them.
      rows_in_loops: whether a `while` loop has gradients of rows, which it adds up in each iteration.
      reordered_rows: whether rows of a gradient come in another order.
      dense: weights whose gradients are rows in the old graph, and dense of the written function.
    """

    differing: List[str]
    largest: float
    in_any_order: bool
    asked: List[str]
    rows_in_loops: bool
    reordered_rows: bool = False
    dense: Sequence[str] = ()


class WantedGradient(NamedTuple):
    """A gradient that a proof compares.

    Attributes:
      weight: its weight.
      losses: numbers of the losses that it is of.
      rows: whether the values of its rows are compared, if it has rows.
      indices: whether the indices of its rows are.
    """

    weight: str
    losses: Tuple[int, ...]
    rows: bool
    indices: bool = False


class _Computed(NamedTuple):
    """Results of a written function.

    Attributes:
      results: of each state, its loss, the gradients of weights, and its further results.
      changes: of each state, (statistic, new value).
      in_any_order: see `Comparison`.
      asked: see `Comparison`.
      rows_in_loops: see `Comparison`.
    """

    results: List[List[np.ndarray]]
    changes: List[List[Tuple[str, np.ndarray]]]
    in_any_order: bool
    asked: List[str]
    rows_in_loops: bool


def compare_tower(
    tower: Tower,
    loss: Callable[[Scope, Dict[str, Any]], tf.Tensor],
    loss_of_all: Callable[..., tf.Tensor] | None = None,
    with_others: Callable[[Scope, Sequence[Any]], tf.Tensor] | None = None,
    results: int = 1,
) -> Comparison:
    """Compares a written function with a tower, from each of its states: loss, raw gradients and statistics.

    Args:
      tower: the tower.
      loss: the function that was written, of a scope and a batch.
      loss_of_all: the function of all towers' losses, and of further results, that is minimized, if that is none of
        their sums.
      with_others: the function of the results on all batches that the tower minimizes, if that is not its loss.
      results: number of the tower's results by which `loss_of_all` is differentiated.

    Returns:
      The comparison.
    """
    phase = tower.phase
    gradients = weight_gradients(tower.plan, tower.graph, phase, tower.number)
    roles = {variable.name: variable.role for variable in tower.plan.variables}
    weights = [name for name in gradients if roles.get(name) == "weight"]  # the others are indices of rows
    needed = range(tower.plan.towers) if loss_of_all or with_others else [tower.number]
    numbers = losses_of_weights(tower.plan, tower.graph, phase, tower.number)
    numbers = dict.fromkeys(numbers, tuple(range(results))) if results > 1 else numbers
    wanted = {name: WantedGradient(name, numbers[name], indices_label(name) in gradients) for name in weights}
    tensors = [gradients[name] for name in weights]
    for place, further in enumerate(tower.further):
        for name, tensor in further.towers[tower.number].items():
            tensors.append(tensor)
            wanted[f"{name} (gradient {place + 2})"] = WantedGradient(name, further.losses, False)
    of_rows = [name for name in weights if wanted[name].rows]
    for name in of_rows:
        tensors.append(gradients[indices_label(name)])
        wanted[indices_label(name)] = wanted[name]._replace(indices=True)
    data, (old, noises) = run_tower(tower, tensors, needed)
    made = _new_results(tower, wanted, data, noises, loss, loss_of_all, with_others, results, len(old))
    differing: Dict[str, float] = {}
    reordered, dense = False, set()
    for place, (state, before, new, changes) in enumerate(zip(tower.states, old, made.results, made.changes)):
        expected = old_named(tower, list(wanted), before, state)
        found = new_named(tower, list(wanted), new, changes)
        dense |= {n for n in of_rows if expected[indices_label(n)].size and not found[indices_label(n)].size}
        reordered |= sums_of_reordered_rows(expected, found, of_rows)
        if np.shape(found[LOSS]) == () and np.size(expected[LOSS]) == 1:  # the one value of a workload's loss
            expected[LOSS] = np.reshape(expected[LOSS], ())
        differing = with_differences(differing, differences(expected, found, wanted), expected, place == LARGER)
    largest = max(differing.values(), default=0.0)
    return Comparison(
        list(differing), largest, made.in_any_order, made.asked, made.rows_in_loops, reordered, sorted(dense)
    )


def _new_results(
    tower: Tower,
    wanted: Mapping[str, WantedGradient],
    data: Mapping[int, Arrays],
    noises: Mapping[int, Arrays],
    loss: Callable[[Scope, Dict[str, Any]], tf.Tensor],
    loss_of_all: Callable[..., tf.Tensor] | None,
    with_others: Callable[[Scope, Sequence[Any]], tf.Tensor] | None,
    differentiated: int,
    states: int,
) -> _Computed:
    """Returns what the written function computes of the weights in `wanted`, from the first `states` states."""
    with tf.Graph().as_default(), v1.Session(config=session_config(["CPU:0"], True)) as session:
        fed: Dict[tf.Tensor, np.ndarray] = {}

        def given(value: np.ndarray) -> tf.Tensor:
            """Returns a placeholder: a graph of constants would be computed by other kernels, before it is run."""
            holder = v1.placeholder(value.dtype, value.shape)
            fed[holder] = value
            return holder

        tensors = {name: given(np.asarray(value)) for name, value in tower.values.items() if value.dtype.kind != "O"}
        counts = [int(tower.values[name]) for name in find_counters(tower.phase, imported_graph(tower.graph))]
        scopes, batches, results = {}, {}, {}
        for number in data:
            drawn = {name: given(value) for name, value in noises[number].items()}
            frame = GivenFrame(tensors, drawn, number, tower.plan.towers, next(iter(counts), 0))
            batches[number] = {n: given(value) for n, value in _batch_of(tower, number, data).items()}
            wholes = {n: given(value) for n, value in _wholes_of(tower, number, data).items()}
            scopes[number] = GivenScope(frame, [(batches[number][n], whole) for n, whole in wholes.items()])
        for number in data:
            made = loss(scopes[number], batches[number])
            results[number] = list(made) if isinstance(made, (list, tuple)) else [made]
        result, *parts = results[tower.number]
        if loss_of_all is not None:
            rows = list(zip(*(results[number] for number in sorted(results))))
            count = len(inspect.signature(loss_of_all).parameters)
            factors = v1.gradients(loss_of_all(*map(list, rows[:count])), [result, *parts][:differentiated])
        else:  # a loss may be a vector, whose sum is minimized
            factors = [_filled(result, FACTOR if any(tower.phase.returns) else 1.0)]
        if with_others is not None:
            whole = with_others(scopes[tower.number], [results[number] for number in sorted(results)])
            shown = _gradients([whole], wanted, tensors, [None])
        else:
            scales = loss_scales(tower.phase) if loss_of_all is None else []
            scaled = [_filled(one, scale) for one, scale in zip([result, *parts], scales)]
            seeds = scaled or [*factors, *([None] * (1 + len(parts) - len(factors)))]
            shown = _gradients([result, *parts], wanted, tensors, seeds)
        in_any_order, rows_in_loops = _adds_three_parts(session.graph), _adds_rows_in_loops(session.graph)
        computed = [result, *shown, *parts]
        changes = scopes[tower.number].changes
        found, changed = [], []
        for state in tower.states[:states]:
            fed.update((tensor, np.asarray(state[name])) for name, tensor in tensors.items())
            new, values = session.run([computed, [value for _, value in changes]], fed)  # at once: random ops draw once
            found.append(new)
            changed.append([(name, value) for (name, _), value in zip(changes, values)])
        return _Computed(found, changed, in_any_order, scopes[tower.number].asked, rows_in_loops)


def _batch_of(tower: Tower, number: int, data: Mapping[int, Arrays]) -> Arrays:
    """Returns {name in the text: array} of the batch that tower `number` has, as a port's batches have it."""
    batch = {}
    for name, entry in tower.names.inputs.items():
        value = value_of(entry, number, data)
        if name in tower.names.copied:
            value = np.stack([value] * (tower.plan.batch or ROWS))
        batch[name] = _of_port(value)
    return batch


def _wholes_of(tower: Tower, number: int, data: Mapping[int, Arrays]) -> Arrays:
    """Returns {name in the text: array} of what all towers have, where tower `number` reads all of it."""
    entries = tower.plan.inputs + tower.plan.common
    parts = [(part_of_whole(entry, entries), entry) for entry in entries]
    names = {id(entry): name for name, entry in tower.names.inputs.items()}
    return {names[id(part)]: _of_port(value_of(entry, number, data)) for part, entry in parts if id(part) in names}


def _of_port(value: np.ndarray) -> np.ndarray:
    """Returns an array in the type that a port's batch has."""
    return value.astype(np.int32) if value.dtype.kind == "i" else value


def _adds_three_parts(graph: tf.Graph) -> bool:
    """Returns whether a gradient has three or more parts, in the graph or in a loop."""
    graph_def = graph.as_graph_def()
    nodes = [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]
    return any(_THIRD_PART.search(node.name) for node in nodes)


def _adds_rows_in_loops(graph: tf.Graph) -> bool:
    """Returns whether a loop makes a dense gradient of rows in each iteration; 1.x keeps the rows of all iterations."""
    return any(node.op == SUM_OF_ROWS for loop in graph.as_graph_def().library.function for node in loop.node_def)


def _filled(result: tf.Tensor, number: float) -> tf.Tensor:
    """Returns a number as the derivative of what is minimized by a loss, in the loss's shape and dtype."""
    return tf.fill(tf.shape(result), tf.constant(number, result.dtype))


def _gradients(
    results: Sequence[tf.Tensor],
    wanted: Mapping[str, WantedGradient],
    values: Mapping[str, tf.Tensor],
    seeds: Sequence[Optional[tf.Tensor]],
) -> List[tf.Tensor]:
    """Returns gradients as a source has them: those of one loss are made together.

    Args:
      results: of the written function, the losses first.
      wanted: {name: gradient}.
      values: {weight: tensor}.
      seeds: for each result, the derivative of what is minimized by it; None is one.

    Returns:
      The gradients, in the order of `wanted`.
    """
    found: Dict[str, tf.Tensor] = {}
    for numbers in sorted({one.losses for one in wanted.values()}):
        names = [name for name, one in wanted.items() if one.losses == numbers]
        given = [values[wanted[name].weight] for name in names]
        ends, begun = [results[number] for number in numbers], [seeds[number] for number in numbers]
        with gradient_sums.added_in_order():
            made = v1.gradients(ends, given, begun, unconnected_gradients="zero")
        for name, gradient in zip(names, made):
            found[name] = _compared(gradient, wanted[name])
    return [found[name] for name in wanted]


def _compared(gradient: Any, wanted: WantedGradient) -> tf.Tensor:
    """Returns what is compared of a gradient: all of it, or the values or indices of its rows."""
    if not wanted.rows or not isinstance(gradient, tf.IndexedSlices):
        return tf.zeros([0], tf.int32) if wanted.indices else tf.convert_to_tensor(gradient)
    return gradient.indices if wanted.indices else gradient.values
