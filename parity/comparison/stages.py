"""Stages of a step record, in causal order: the first that differs shows the fault, the others follow from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from parity.comparison.fits import flatten_arrays
from parity.comparison.sparse_gradients import with_dense_gradients, with_rows_alike
from parity.layers.differing_tensors import DifferingTensors, by_replica, on_replica
from workloads.program import Arrays, State, StepRecord

BATCH, LOSS, GRADIENTS, COMBINED = "batch", "loss", "gradients", "combined gradients"
RATE, WEIGHTS, SLOTS, STATISTICS, AVERAGES = "learning rate", "weights", "slots", "statistics", "moving averages"
INITIAL = "initial values"
#: Stages of tensors inside the model, which are recorded with `--taps` only.
ACTIVATIONS, ACTIVATION_GRADIENTS = "activations", "gradients of activations"

STAGES = (
    INITIAL,
    BATCH,
    ACTIVATIONS,
    LOSS,
    ACTIVATION_GRADIENTS,
    GRADIENTS,
    COMBINED,
    RATE,
    WEIGHTS,
    SLOTS,
    STATISTICS,
    AVERAGES,
)

#: Stages of the variables' values after a step.
OF_STATE = (WEIGHTS, SLOTS, STATISTICS, AVERAGES)

#: A workload's metrics after the last step, which no step record holds; see `parity.verdict.metrics_check`.
METRICS = "metrics"

#: One tensor of a record: its stage, its name within the stage, and its value.
StageTensor: TypeAlias = tuple[str, str, np.ndarray]


def tensors(
    record: StepRecord, taps: Sequence[str] = (), tap_gradients: Sequence[str] | None = None
) -> Iterator[StageTensor]:
    """Yields the tensors of a step record as (stage, name, array), in causal order.

    Args:
      record: the step.
      taps: names of the taps to yield, in the order of the forward pass.
      tap_gradients: names of those whose gradients to yield; None for all of them.

    Yields:
      all tensors but other taps.
    """
    for replica, digest in enumerate(record.digests):
        yield BATCH, f"replica {replica}", np.array(digest)
    yield from _tap_tensors(ACTIVATIONS, record.taps, taps)
    for replica, loss in enumerate(record.losses):
        yield LOSS, f"replica {replica}", np.asarray(loss)
    yield from _tap_tensors(
        ACTIVATION_GRADIENTS, record.tap_gradients, (taps if tap_gradients is None else tap_gradients)[::-1]
    )
    for replica, gradients in enumerate(record.gradients):
        for name in sorted(gradients):
            yield GRADIENTS, on_replica(name, replica), np.asarray(gradients[name])
    for name in sorted(record.combined):
        yield COMBINED, name, np.asarray(record.combined[name])
    if record.learning_rate is not None:
        # In float32, as towers have it: another framework's recording, or a lift in float64, has more digits of it.
        yield RATE, "learning rate", np.asarray(record.learning_rate, np.float32)
    yield from _tensors_of_state(record.state)


def both_tensors(left: StepRecord, right: StepRecord) -> tuple[Iterator[StageTensor], Iterator[StageTensor]]:
    """Returns the tensors of two records of one step, in the same order; of taps, those that both have."""
    first, second = aligned_tensors(left, right)
    return first, second


def aligned_tensors(*records: StepRecord) -> list[Iterator[StageTensor]]:
    """Returns the tensors of records of one step, in the same order; of taps, those that all records have.

    Rows of sparse gradients that come in other orders are added up; see `with_rows_alike`.
    """
    shared = common_taps(*records)
    gradients = common_tap_gradients(shared, *records)
    return [tensors(record, shared, gradients) for record in with_rows_alike(records)]


def common_taps(*records: StepRecord) -> list[str]:
    """Returns the names of the taps that all replicas of all records have, in the first one's order."""
    if not all(record.taps and record.tap_gradients for record in records):
        return []
    return [name for name in records[0].taps[0] if all(name in taps for record in records for taps in record.taps)]


def common_tap_gradients(taps: Sequence[str], *records: StepRecord) -> list[str]:
    """Returns those of the taps to which all replicas of all records have a gradient."""
    return [name for name in taps if all(name in found for record in records for found in record.tap_gradients)]


def differing_tensors(found: Iterable[tuple[str, str]]) -> DifferingTensors:
    """Returns the tensors of one step that differ, of (stage, name), by the part of the step that made them."""
    names: dict[str, list[str]] = {stage: [] for stage in STAGES}
    for stage, name in found:
        names[stage].append(name)
    return DifferingTensors(
        activations=by_replica(names[ACTIVATIONS]),
        loss=bool(names[LOSS]),
        activation_gradients=by_replica(names[ACTIVATION_GRADIENTS]),
        gradients=by_replica(names[GRADIENTS]),
        later={stage: names[stage] for stage in STAGES[STAGES.index(COMBINED) :] if names[stage] and stage != RATE},
    )


def _tap_tensors(stage: str, replicas: Sequence[Arrays], taps: Sequence[str]) -> Iterator[StageTensor]:
    for name in taps:
        for replica, arrays in enumerate(replicas):
            yield stage, on_replica(name, replica), np.asarray(arrays[name])


def initial_tensors(state: State) -> Iterator[StageTensor]:
    """Yields the tensors of the state before the first step, all in the stage `INITIAL`."""
    for stage, name, array in _tensors_of_state(state):
        yield INITIAL, initial_name(stage, name), array


def initial_name(stage: str, name: str) -> str:
    """Returns the name, within the stage `INITIAL`, of a tensor of the state before the first step.

    >>> initial_name(WEIGHTS, "w"), initial_name(AVERAGES, "w")
    ('w', 'w (moving averages)')
    """
    return name if stage == WEIGHTS else f"{name} ({stage})"


def state_tensors(state: State) -> dict[tuple[str, str], np.ndarray]:
    """Returns {(stage, name): array} of a state."""
    return {(stage, name): array for stage, name, array in _tensors_of_state(state)}


def _tensors_of_state(state: State) -> Iterator[StageTensor]:
    for stage, arrays in zip(OF_STATE, (state.weights, state.slots, state.statistics, state.averages)):
        for name in sorted(arrays):
            yield stage, name, np.asarray(arrays[name])


def _all_gradients(record: StepRecord) -> np.ndarray:
    replicas = enumerate(with_dense_gradients(record).gradients)
    return flatten_arrays({(str(i), name): g for i, gradients in replicas for name, g in gradients.items()})


#: {stage: function from a record to all tensors of the stage as one float64 vector}: the stages in which a factor
#: common to all tensors is measured.
FACTORED: dict[str, Callable[[StepRecord], np.ndarray]] = {
    GRADIENTS: _all_gradients,
    COMBINED: lambda record: flatten_arrays(with_dense_gradients(record).combined),
}
