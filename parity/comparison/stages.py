"""The stages of a step, in causal order: the first that differs owns the diagnosis, later ones are consequences."""

from __future__ import annotations

import numpy as np

from parity.comparison.fits import flatten_arrays

BATCH, LOSS, GRADIENTS, COMBINED = "batch", "loss", "gradients", "combined gradients"
RATE, WEIGHTS, SLOTS, STATISTICS, AVERAGES = "learning rate", "weights", "slots", "statistics", "moving averages"
INITIAL = "initial values"

STAGES = (INITIAL, BATCH, LOSS, GRADIENTS, COMBINED, RATE, WEIGHTS, SLOTS, STATISTICS, AVERAGES)


def _gradients(record):
    return flatten_arrays(
        {(str(i), name): g for i, gradients in enumerate(record.gradients) for name, g in gradients.items()}
    )


#: {stage: function from a record to all its tensors as one vector}: where a factor common to all is looked for.
FACTORED = {GRADIENTS: _gradients, COMBINED: lambda record: flatten_arrays(record.combined)}


def tensors(record):
    """Every tensor of a `StepRecord` as (stage, name, array), in causal order."""
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
    yield from _state(record.state)


def initial_tensors(state):
    """The tensors of the `State` before the first step, as (stage, name, array)."""
    for stage, name, array in _state(state):
        yield INITIAL, f"{name} ({stage})" if stage != WEIGHTS else name, array


def state_tensors(state):
    """{(stage, name): array} of a `State`."""
    return {(stage, name): array for stage, name, array in _state(state)}


def _state(state):
    for stage, arrays in (
        (WEIGHTS, state.weights),
        (SLOTS, state.slots),
        (STATISTICS, state.statistics),
        (AVERAGES, state.averages),
    ):
        for name in sorted(arrays):
            yield stage, name, np.asarray(arrays[name])
