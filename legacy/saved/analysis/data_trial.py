"""Finds made-up data that a graph can run with, by trying: sizes of open dimensions, and ranges of integers.

A graph may leave dimensions open that must fit its variables, each other, or a constant inside it, and integers that
must be lengths, labels or masks. Where batches drawn without this knowledge fail, or give no finite loss or no
gradient, every open dimension gets a prime number of its own: the numbers in an op's error then tell which dimension is
wrong, and what it must be.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.context import Context
from legacy.saved.tower_search import inputs
from legacy.towers.program import session_config
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.importing import import_graph
from workloads.lifted.made_up_data import (
    OPEN,
    VALUES,
    BatchSize,
    made_up_sparse_tensor,
    made_up_values,
    sparse_groups,
    tie_parts,
)
from workloads.lifted.piece import VariableVersion
from workloads.lifted.plan import Input, Plan
from workloads.lifted.workload import DEFAULT_BATCH, LiftedWorkload
from workloads.support.errors import InputError

v1 = tf.compat.v1

#: Sizes by which open dimensions are told apart; none of them is common in models.
PRIMES = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
#: Sizes of an image's sides.
IMAGE_SIDES = (64, 96)
#: The batch's own.
BATCH_PRIME = 7
#: Runs of the graph that are tried, in all and for one choice of ranks and ranges.
MOST_RUNS, MOST_RUNS_OF_A_CHOICE = 200, 24
#: Nodes that all runs together may compute, but for the first runs: a large graph is tried less often.
MOST_NODES, FIRST_RUNS = 200_000, 12
#: Corrections cost one each, more where two dimensions become one or the batch changes. What is cheap is tried first.
TIE_COST, BATCH_COST = 0.5, 3.0
MOST_COSTS = (4.0, 9.0)
#: Larger numbers in messages are no sizes.
LARGEST = 1 << 20
#: A size in an error's message; digits in the name of a node, such as tower_1/sub, are none.
SIZE_PATTERN = re.compile(r"(?<![\w/.])\d+(?![\w/.]*[\w/])")
#: Ranks that are tried for an input of unknown rank.
RANKS = (2, 1, 4, 3)

#: (input's name, dimension): an open dimension.
Dimension = tuple[str, int]


class Outcome(NamedTuple):
    """Outcome of one run.

    Attributes:
      message: the error's, or empty.
      finite: whether all losses and gradients are finite.
      trains: whether each tower has a gradient that is not zero.
    """

    message: str
    finite: bool = False
    trains: bool = False

    @property
    def is_good(self) -> bool:
        """Whether the run can be compared with another one and shows anything."""
        return not self.message and self.finite and self.trains


def fit_made_up_data(plan: Plan, context: Context, start: Mapping[str, np.ndarray]) -> None:
    """Sets `example`, `low` and `limit` of a plan's inputs, and its batch, so that the graph runs with made-up data.

    Where data without them do, nothing is changed; where none are found, neither.

    Args:
      plan: the plan of a lift; changed.
      context: of the subgraph that a step runs.
      start: {variable: initial value}.
    """
    entries = plan.inputs + plan.common
    if not any(_is_open(entry) for entry in entries):
        return
    try:
        search = _Search(plan, context, start)
    except (InputError, ValueError, tf.errors.OpError):
        return
    found = search.best()
    if found is not None:
        plan.batch = found.batch if plan.batch is None else plan.batch
        for entry, fitted in zip(entries, found.entries):
            entry.example, entry.low, entry.limit = fitted.example, fitted.low, fitted.limit
            if entry.shape is None:
                entry.kind = "setting" if not fitted.example else entry.kind


def _is_open(entry: Input) -> bool:
    """Returns whether made-up values of an input could be wrong."""
    if entry.dtype in ("string", "resource", "variant"):
        return False
    is_unbounded = entry.dtype.startswith("int") and not entry.limit
    return is_unbounded or entry.shape is None or None in entry.shape or bool(entry.sparse) or entry.dtype == "bool"


class _Sizes(NamedTuple):
    """Sizes of open dimensions.

    Attributes:
      cost: of the corrections that led to them.
      open: {open dimension: size}.
      batch: number of a tower's examples.
    """

    cost: float
    open: dict[Dimension, int]
    batch: int


class _Fit(NamedTuple):
    """A choice of made-up data.

    Attributes:
      entries: the inputs with `example`, `low` and `limit` set.
      batch: number of a tower's examples that the graph needs, or None if it takes any.
      outcome: of the run with it.
    """

    entries: list[Input]
    batch: int | None
    outcome: Outcome


class _Search:
    """Tries made-up data.

    Args:
      plan: the plan.
      context: of the subgraph that a step runs.
      start: {variable: initial value}.
    """

    def __init__(self, plan: Plan, context: Context, start: Mapping[str, np.ndarray]) -> None:
        self._plan, self._entries = plan, plan.inputs + plan.common
        self._runner = _Runner(plan, context.graph, start)
        self._runs = 0
        self._most_runs = min(MOST_RUNS, max(FIRST_RUNS, MOST_NODES // len(context.graph.nodes)))
        rows = [[parse_tensor_name(name) for name in entry.tensors] for entry in plan.inputs]
        parts = [inputs.constant_part(context.graph, context.imported, row) for row in rows]
        self._batches = [part for part in dict.fromkeys(parts) if part and plan.batch is None]
        self._batches.append(plan.batch or BATCH_PRIME)

    def best(self) -> _Fit | None:
        """Returns data with which the graph runs, finite and with gradients if there are such; None if none need be."""
        first = self._run(self._entries, self._plan.batch or DEFAULT_BATCH)
        if first.is_good:
            return None
        fallback: _Fit | None = None
        for most_cost in MOST_COSTS:
            for batch, entries in itertools.product(self._batches, _choices(self._entries)):
                fit = self._solved(entries, batch, most_cost)
                if fit is not None and fit.outcome.is_good:
                    return fit
                fallback = fallback or fit
                if self._runs >= self._most_runs:
                    return fallback if first.message else None
        return fallback if first.message else None

    def _run(self, entries: Sequence[Input], batch: int) -> Outcome:
        """Runs twice, with different values; returns the first outcome that is not good."""
        outcome = Outcome("")
        for seed in range(2):
            self._runs += 1
            outcome = self._runner.run(entries, batch, seed)
            if not outcome.is_good:
                break
        return outcome

    def _solved(self, entries: Sequence[Input], batch: int, most_cost: float) -> _Fit | None:
        """Returns sizes of the open dimensions with which the graph runs; None if none cost so little."""
        open_dimensions = [
            (entry.name, i) for entry in entries for i, size in enumerate(entry.shape or []) if size is None and i
        ]
        start = {dimension: PRIMES[k % len(PRIMES)] for k, dimension in enumerate(open_dimensions)}
        start.update(_image_sizes(entries))
        todo = [_Sizes(0.0, start, batch)]
        seen = set()
        most_runs = min(self._most_runs, self._runs + MOST_RUNS_OF_A_CHOICE)
        while todo and self._runs < most_runs:
            sizes = todo.pop(min(range(len(todo)), key=lambda i: todo[i].cost))
            key = (tuple(sorted(sizes.open.items())), sizes.batch)
            if key in seen:
                continue
            seen.add(key)
            sized = [_sized(entry, sizes) for entry in entries]
            outcome = self._run(sized, sizes.batch)
            if not outcome.message:
                is_pinned = self._plan.batch is None and sizes.batch != BATCH_PRIME
                return _Fit(sized, sizes.batch if is_pinned else None, outcome)
            corrected = _corrected(sizes, batch == BATCH_PRIME, outcome.message)
            todo += [other for other in corrected if other.cost <= most_cost]
        return None


def _image_sizes(entries: Sequence[Input]) -> dict[Dimension, int]:
    """Returns sizes of the open sides of one image input, of the first with three channels if there are several.

    A network may halve an image five times and put it together again, which it cannot do with primes.
    """
    images = [entry for entry in entries if len(entry.shape or []) == 4]
    images.sort(key=lambda entry: (entry.shape or [])[3] != 3)
    sides = [(images[0].name, i) for i in (1, 2) if (images[0].shape or [])[i] is None] if images else []
    return dict(zip(sides, IMAGE_SIDES))


def _sized(entry: Input, sizes: _Sizes) -> Input:
    """Returns an input with the given sizes of its open dimensions; one that is the batch's stays open."""
    shape = [sizes.open.get((entry.name, i), size) for i, size in enumerate(entry.shape or [])]
    is_batch = [old is None and new == sizes.batch for old, new in zip(entry.shape or [], shape)]
    return dataclasses.replace(entry, example=[None if own else size for own, size in zip(is_batch, shape)])


def _corrected(sizes: _Sizes, batch_is_open: bool, message: str) -> Iterator[_Sizes]:
    """Yields sizes that an error suggests: a number in it that is a multiple of a size is to become another one.

    Dimensions of the same size stay tied to each other.

    Args:
      sizes: those of the run that failed.
      batch_is_open: whether the batch may change.
      message: the error's.
    """
    numbers = [int(text) for text in dict.fromkeys(SIZE_PATTERN.findall(message)) if 0 < int(text) < LARGEST]
    known = set(sizes.open.values()) | {sizes.batch}
    for value in dict.fromkeys([*sizes.open.values(), *([sizes.batch] if batch_is_open else [])]):
        for number in [number for number in numbers if number % value == 0]:
            for other in [other for other in numbers if other != number]:
                factor = number // value
                size, cost = (other // factor, 1.0) if other % factor == 0 else (other, 2.0)
                if size == value:
                    continue
                cost += TIE_COST if size in known else 0.0
                cost += BATCH_COST if value == sizes.batch else 0.0
                changed = {dimension: size if old == value else old for dimension, old in sizes.open.items()}
                batch = size if value == sizes.batch and batch_is_open else sizes.batch
                yield _Sizes(sizes.cost + cost, changed, batch)


def _choices(entries: Sequence[Input]) -> Iterator[list[Input]]:
    """Yields the inputs with ranks for those of unknown rank, and with ranges for integers without a bound."""
    unknown = [entry.name for entry in entries if entry.shape is None and entry.kind != "setting"]
    sizes = sorted({size for entry in entries for size in (entry.shape or [])[1:] if size} | {OPEN, *PRIMES[:2]})
    for rank in RANKS if unknown else (0,):
        ranked = [
            _with_rank(entry, 1 if entry.dtype.startswith("int") and rank == 2 else rank)
            if entry.name in unknown
            else entry
            for entry in entries
        ]
        for low, limit in [(0, 0), (1, 2), (0, 1), *((size, size + 1) for size in sizes)]:
            yield [_with_range(entry, low, limit) for entry in ranked]


def _with_rank(entry: Input, rank: int) -> Input:
    """Returns an input of unknown rank with all dimensions open."""
    return dataclasses.replace(entry, shape=[None] * rank)


def _with_range(entry: Input, low: int, limit: int) -> Input:
    """Returns an input with another range, if it is of integers without a bound, or of booleans."""
    if entry.sparse and not entry.sparse.endswith("/" + VALUES):
        return entry
    if entry.dtype == "bool" and entry.kind != "setting":
        return dataclasses.replace(entry, low=min(low, 1))
    if entry.dtype.startswith("int") and not entry.limit and entry.kind != "setting":
        return dataclasses.replace(entry, low=low, limit=limit)
    return entry


class _Runner:
    """Runs the towers of a plan on made-up data: all losses and gradients of all train ops.

    Args:
      plan: the plan.
      graph: the subgraph that a step runs.
      start: {variable: initial value}.
    """

    def __init__(self, plan: Plan, graph: Graph, start: Mapping[str, np.ndarray]) -> None:
        self._plan = plan
        self._towers = [
            [name for phase in plan.phases for name in (phase.gradients[tower] if phase.gradients else {}).values()]
            for tower in range(plan.towers)
        ]
        self._losses = [name for phase in plan.phases for name in phase.losses]
        fetches = list(dict.fromkeys(self._losses + [name for tower in self._towers for name in tower]))
        entries = plan.inputs + plan.common
        cutter = LiftedWorkload(plan.name, plan=plan, graph=graph).cutter({})
        piece = cutter.piece(fetches, {tensor for entry in entries for tensor in entry.tensors})
        with tf.Graph().as_default() as imported:
            tensors = import_graph(piece.graph_def, fetches=piece.fetches, subject="graph file")
            self._tensors = dict(zip(fetches, tensors))
        self._session = v1.Session(graph=imported, config=session_config(["CPU:0"], True))
        self._holders: dict[str, Any] = {}
        self._fixed: dict[Any, np.ndarray] = {}
        for feed in piece.feeds:
            holder = imported.get_tensor_by_name(feed.placeholder + ":0")
            if isinstance(feed.key, VariableVersion):
                self._fixed[holder] = np.asarray(start[feed.key.variable])
            elif feed.kind == "noise":
                self._fixed[holder] = np.array([1, 2], np.int32)
            else:
                self._holders[feed.key] = holder

    def run(self, entries: Sequence[Input], batch: int, seed: int) -> Outcome:
        """Runs once with made-up values of inputs, drawn from a seed, for a tower's batch of the given size."""
        size = BatchSize(batch, self._plan.towers)
        feed = dict(self._fixed)
        try:
            shards = [_made_up(entries, size, seed * self._plan.towers + k) for k in range(self._plan.towers)]
            tie_parts(entries, shards)
            for tower, values in enumerate(shards):
                for entry in entries:
                    tensor = entry.tensors[tower] if len(entry.tensors) > 1 else entry.tensors[0]
                    if tensor in self._holders:
                        feed[self._holders[tensor]] = values[entry.name]
            results = self._session.run(self._tensors, feed)
        except (tf.errors.OpError, ValueError, InputError) as error:
            return Outcome(getattr(error, "message", None) or str(error))
        finite = all(np.isfinite(np.asarray(value, np.float64)).all() for value in results.values())
        trains = all(any(np.any(results[name]) for name in tower) for tower in self._towers if tower)
        return Outcome("", finite, trains and any(self._towers))


def _made_up(entries: Sequence[Input], size: BatchSize, seed: int) -> dict[str, np.ndarray]:
    """Returns {input: made-up values} of one tower."""
    rng = np.random.RandomState(seed)
    values = {entry.name: made_up_values(entry, size, rng) for entry in entries if not entry.sparse}
    for parts in sparse_groups(entries).values():
        values.update(made_up_sparse_tensor(parts, size, rng))
    return values
