"""Stages of a step record, in causal order: the first that differs shows the fault, the others follow from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from parity.comparison.fits import flatten_arrays
from workloads.program import State, StepRecord

BATCH, LOSS, GRADIENTS, COMBINED = "batch", "loss", "gradients", "combined gradients"
RATE, WEIGHTS, SLOTS, STATISTICS, AVERAGES = "learning rate", "weights", "slots", "statistics", "moving averages"
INITIAL = "initial values"

STAGES = (INITIAL, BATCH, LOSS, GRADIENTS, COMBINED, RATE, WEIGHTS, SLOTS, STATISTICS, AVERAGES)

#: One tensor of a record: its stage, its name within the stage, and its value.
StageTensor: TypeAlias = tuple[str, str, np.ndarray]


def tensors(record: StepRecord) -> Iterator[StageTensor]:
    """Yields every tensor of a step record as (stage, name, array), in causal order."""
    for replica, digest in enumerate(record.digests):
        yield BATCH, f"replica {replica}", np.array(digest)
    for replica, loss in enumerate(record.losses):
        yield LOSS, f"replica {replica}", np.asarray(loss)
    for replica, gradients in enumerate(record.gradients):
        for name in sorted(gradients):
            yield GRADIENTS, f"{name} on replica {replica}", np.asarray(gradients[name])
    for name in sorted(record.combined):
        yield COMBINED, name, np.asarray(record.combined[name])
    if record.learning_rate is not None:
        yield RATE, "learning rate", np.asarray(record.learning_rate)
    yield from _tensors_of_state(record.state)


def initial_tensors(state: State) -> Iterator[StageTensor]:
    """Yields the tensors of the state before the first step, all in the stage `INITIAL`."""
    for stage, name, array in _tensors_of_state(state):
        yield INITIAL, f"{name} ({stage})" if stage != WEIGHTS else name, array


def state_tensors(state: State) -> dict[tuple[str, str], np.ndarray]:
    """Returns {(stage, name): array} of a state."""
    return {(stage, name): array for stage, name, array in _tensors_of_state(state)}


def _tensors_of_state(state: State) -> Iterator[StageTensor]:
    for stage, arrays in (
        (WEIGHTS, state.weights),
        (SLOTS, state.slots),
        (STATISTICS, state.statistics),
        (AVERAGES, state.averages),
    ):
        for name in sorted(arrays):
            yield stage, name, np.asarray(arrays[name])


def _all_gradients(record: StepRecord) -> np.ndarray:
    return flatten_arrays(
        {(str(i), name): g for i, gradients in enumerate(record.gradients) for name, g in gradients.items()}
    )


#: {stage: function from a record to all tensors of the stage as one float64 vector}: the stages in which a factor
#: common to all tensors is measured.
FACTORED: dict[str, Callable[[StepRecord], np.ndarray]] = {
    GRADIENTS: _all_gradients,
    COMBINED: lambda record: flatten_arrays(record.combined),
}
