"""Which examples went to which replica, by the examples' own hashes; by whole batches' digests where those lack."""

from __future__ import annotations

import collections
import dataclasses
from typing import List

#: Other steps' batches are looked for this far away.
FARTHEST = 4


@dataclasses.dataclass(frozen=True)
class ComparedBatch:
    """One step's global batch on both sides.

    Attributes:
      step: its number.
      same: each replica has the same examples in the same order on both sides.
      sizes: (left, right) lists over replicas of examples; empty if not recorded.
      shared: part of the left's examples that the right has anywhere in the step, 0 to 1.
      same_on_all: (left, right) whether every replica has the same batch.
      shift: k where the right's batch is the left's of step + k; None if it is no other step's, or its own.
    """

    step: int
    same: bool
    sizes: tuple
    shared: float
    same_on_all: tuple
    shift: object


def measure_batches(steps):
    """[`ComparedBatch`] of the steps in which both sides say what they saw."""
    pairs = [(step.left.step, _identities(step.left), _identities(step.right)) for step in steps]
    pairs = [pair for pair in pairs if pair[1] and pair[2] and len(pair[1][0][:1]) == len(pair[2][0][:1])]
    lefts = {number: collections.Counter(_all(left)) for number, left, _ in pairs}
    return [_batch(number, left, right, lefts) for number, left, right in pairs]


def _batch(number, left, right, lefts):
    mine, yours = collections.Counter(_all(left)), collections.Counter(_all(right))
    shift = None
    if mine != yours:
        candidates = [k for k in range(-FARTHEST, FARTHEST + 1) if k and lefts.get(number + k) == yours]
        shift = min(candidates, key=abs) if candidates else None
    return ComparedBatch(
        step=number,
        same=left == right,
        sizes=([len(ids) for ids in left], [len(ids) for ids in right]),
        shared=sum((mine & yours).values()) / max(1, sum(mine.values())),
        same_on_all=tuple(len(side) > 1 and all(ids == side[0] for ids in side[1:]) for side in (left, right)),
        shift=shift,
    )


def _identities(record) -> List[tuple]:
    """Over replicas: the examples' ids, or the one digest of the whole batch."""
    if record.examples:
        return [tuple(int(i) for i in ids) for ids in record.examples]
    return [(digest,) for digest in record.digests]


def _all(replicas):
    return [identity for ids in replicas for identity in ids]
