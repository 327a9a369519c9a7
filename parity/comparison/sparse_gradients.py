"""Sparse gradients of lifted graphs, which are recorded as rows and their indices, as dense arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from workloads.lifted.plan import indices_label, is_indices_label
from workloads.program import Arrays, StepRecord


def with_dense_gradients(record: StepRecord) -> StepRecord:
    """Returns a record whose gradients have their weights' shapes; the record itself where none is sparse."""
    if not any(map(is_indices_label, [*record.combined, *(name for tower in record.gradients for name in tower)])):
        return record
    shapes = {name: value.shape for name, value in record.state.weights.items()}
    gradients = [dense_gradients(tower, shapes) for tower in record.gradients]
    return dataclasses.replace(record, gradients=gradients, combined=dense_gradients(record.combined, shapes))


def with_rows_alike(records: Sequence[StepRecord]) -> list[StepRecord]:
    """Returns records of one step in which rows that come in several orders are dense gradients.

    The rows of several lookups of one table are joined in the order in which a side differentiates the lookups. An
    update adds the rows of each index: another order of them is rounding, and rows of other indices are not.

    Args:
      records: of one step.

    Returns:
      The records. A gradient whose rows have the same indices in all of them, in different orders, has its weight's
      shape, and its indices are sorted; all others are as they were.
    """
    replicas = zip(*(record.gradients for record in records))
    alike = [_rows_alike(sides, [record.state.weights for record in records]) for sides in replicas]
    combined = _rows_alike([record.combined for record in records], [record.state.weights for record in records])
    return [
        dataclasses.replace(
            record,
            gradients=[sides[place] for sides in alike] or record.gradients,
            combined=combined[place],
        )
        for place, record in enumerate(records)
    ]


def _rows_alike(sides: Sequence[Arrays], weights: Sequence[Arrays]) -> list[Arrays]:
    """Returns each side's gradients; see `with_rows_alike`.

    Args:
      sides: {weight: gradient} of each record, with the indices of rows.
      weights: {weight: value} of each record.

    Returns:
      The gradients.
    """
    found = [dict(side) for side in sides]
    for name in [name for name in weights[0] if all(indices_label(name) in side for side in sides)]:
        label = indices_label(name)
        indices = [np.ravel(side[label]) for side in sides]
        if _are_reordered(indices):
            for side, own, rows in zip(found, weights, indices):
                side.update(dense_gradients({name: side[name], label: rows}, {name: own[name].shape}))
                side[label] = np.sort(rows)
    return found


def _are_reordered(indices: Sequence[np.ndarray]) -> bool:
    """Returns whether all arrays have the same integers, and not all in the same order.

    >>> _are_reordered([np.array([1, 2, 1]), np.array([1, 1, 2])]), _are_reordered([np.array([1]), np.array([2])])
    (True, False)
    """
    first, *others = indices
    if all(np.array_equal(first, other) for other in others):
        return False
    return all(np.array_equal(np.sort(first), np.sort(other)) for other in others)


def dense_gradients(gradients: Arrays, shapes: Mapping[str, Sequence[int]]) -> Arrays:
    """Returns gradients as dense arrays: rows are added at their indices, in their order.

    Args:
      gradients: {weight: gradient, or its rows}, and {`indices_label(weight)`: the rows' indices}.
      shapes: {weight: shape}.

    Returns:
      {weight: array of its shape}.
    """
    found = {}
    for name in shapes:
        rows = gradients.get(indices_label(name))
        if name in gradients and rows is not None:
            found[name] = np.zeros(shapes[name], gradients[name].dtype)
            np.add.at(found[name], np.ravel(rows), gradients[name].reshape((-1, *shapes[name][1:])))
        elif name in gradients:
            found[name] = gradients[name]
    return found
