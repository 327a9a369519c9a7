"""What dropout kept, on each side."""

from __future__ import annotations

import dataclasses
from typing import Dict, List

import numpy as np


@dataclasses.dataclass(frozen=True)
class DropoutMasks:
    """Attributes:
    kept: {dropout name: (left, right)} parts of the elements that were kept, over all steps and replicas.
    sizes: {dropout name: elements counted in `kept`}.
    agree: (left, right) smallest part of elements, over pairs of replicas, names and steps, on which a replica's
      mask is another's; not-a-number without masks of several replicas.
    expected: agreement of independent masks that keep as much, (left, right).
    same: part of the elements that are the same on both sides.
    """

    kept: Dict[str, tuple]
    sizes: Dict[str, int]
    agree: tuple
    expected: tuple
    same: float


def measure_dropout_masks(steps):
    """`DropoutMasks` of the steps whose records have them, or None."""
    steps = [step for step in steps if step.right.masks]
    if not steps or not steps[0].right.masks[0]:
        return None
    lefts, rights = [step.left.masks for step in steps], [step.right.masks for step in steps]
    names = list(steps[0].right.masks[0])
    kept = {name: (_kept(lefts, name), _kept(rights, name)) for name in names}
    sizes = {name: sum(np.size(masks[name]) for record in rights for masks in record) for name in names}
    expected = tuple(float(np.mean([k[side] ** 2 + (1 - k[side]) ** 2 for k in kept.values()])) for side in (0, 1))
    same = [_same(a[name], b[name]) for x, y in zip(lefts, rights) for a, b in zip(x, y) for name in names if name in a]
    return DropoutMasks(
        kept, sizes, (_agreement(lefts), _agreement(rights)), expected, float(np.mean(same)) if same else float("nan")
    )


def _kept(records: List[list], name):
    values = [np.asarray(masks[name], bool).mean() for record in records for masks in record if name in masks]
    return float(np.mean(values)) if values else float("nan")


def _agreement(records):
    values = [_same(record[0][name], other[name]) for record in records for other in record[1:] for name in record[0]]
    return float(np.min(values)) if values else float("nan")


def _same(a, b):
    a, b = np.asarray(a, bool), np.asarray(b, bool)
    return float(np.mean(a == b)) if a.shape == b.shape else float("nan")
