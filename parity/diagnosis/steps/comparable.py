"""Recordings that can be compared: tensors of one name must have one shape and dtype on both sides."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from parity.comparison import stages
from workloads.program import State, StepRecord
from workloads.support.errors import InputError

#: What helps where names differ.
HINT = "--names=names.json matches others"


def require_comparable_states(path: str, left: State, right: State) -> None:
    """Raises `InputError` if a tensor of two states has other shapes or dtypes, or if they share no weight.

    Args:
      path: the right recording, for the message.
      left: state of the left recording.
      right: state of the right one.
    """
    if not set(left.weights) & set(right.weights):
        listed = ", ".join(sorted(left.weights)[:4]) or "none"
        raise InputError(f"--right: got {path!r}, no weight has a name of --left's, which are {listed}; {HINT}")
    _require_comparable(path, stages.state_tensors(left), stages.state_tensors(right))


def comparable_record(path: str, left: StepRecord, right: StepRecord) -> StepRecord:
    """Checks that two records line up, and gives losses the left's dtype and a learning rate the left's shape.

    A loss is recorded as float64 where a training loop shows it as a Python number; a lift has several rates.

    Args:
      path: the right recording, for the message.
      left: record of the left recording.
      right: record of the right one.

    Returns:
      the right record.

    Raises:
      InputError: a tensor that both have is of another shape or dtype.
    """
    rate = _rates_like(left.learning_rate, right.learning_rate)
    right = dataclasses.replace(right, losses=_rounded(left.losses, right.losses), learning_rate=rate)
    names = [sorted(record.proposals[0]) for record in (left, right) if record.proposals]
    if len(names) == 2 and names[0] != names[1]:
        raise InputError(f"--right: got {path!r}, its proposals are {names[1]}, --left's {names[0]}")
    _require_comparable(path, *({(stage, n): value for stage, n, value in stages.tensors(r)} for r in (left, right)))
    return right


def with_as_many_losses(left: StepRecord, right: StepRecord) -> StepRecord:
    """Returns the left record with the mean of its losses where the right one holds one number for all replicas."""
    if len(right.losses) != 1 or len(left.losses) < 2:
        return left
    return dataclasses.replace(left, losses=[np.asarray(np.mean(left.losses), left.losses[0].dtype)])


def uncompared_weights(left: State, right: State) -> list[str]:
    """Returns lines about weights that only one of two states has."""
    return [f"{name}: only on the left" for name in left.weights if name not in right.weights] + [
        f"{name}: only on the right" for name in right.weights if name not in left.weights
    ]


def _rounded(left: list[np.ndarray], right: list[np.ndarray]) -> list[np.ndarray]:
    """Returns the right side's losses, as float32 where the left's are that and the right's float64."""
    narrow = bool(left) and all(loss.dtype == np.float32 for loss in left)
    return [loss.astype(np.float32) if narrow and loss.dtype == np.float64 else loss for loss in right]


def _rates_like(left: Any, right: Any) -> Any:
    """Returns the right side's one learning rate in the left's shape; several, or none, as they are."""
    known = np.ravel([] if right is None else right)
    if left is None or not known.size or np.any(known != known[0]):
        return right
    return np.full(np.shape(left), known[0])


def _require_comparable(
    path: str, left: Mapping[tuple[str, str], np.ndarray], right: Mapping[tuple[str, str], np.ndarray]
) -> None:
    """Raises `InputError` for a tensor that both sides have, in other shapes or dtypes; gradients may have rows."""
    for (stage, name), value in right.items():
        other = left.get((stage, name))
        if other is None or stage == stages.BATCH:
            continue
        first = 1 if stage in (stages.GRADIENTS, stages.COMBINED) else 0  # a sparse gradient has any number of rows
        same = other.ndim == value.ndim and other.shape[first:] == value.shape[first:]
        if other.dtype != value.dtype or not same:
            raise InputError(
                f"--right: got {path!r}, its {stage} {name!r} are {value.dtype} {list(value.shape)}, --left's "
                f"{other.dtype} {list(other.shape)}; record both runs in one dtype and shape"
            )
