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
