"""Batches: the examples that each replica saw on each side, identified by the examples' hashes.

A record without hashes of examples has one digest for each replica's batch, which stands for all of its examples.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping, Sequence

from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import StepRecord

#: A batch is looked for among the left's batches up to this many steps away.
FARTHEST = 4

#: Hash of an example, or digest of a whole batch.
Identity = int | str


@dataclasses.dataclass(frozen=True)
class ComparedBatch:
    """One step's global batch on both sides.

    Attributes:
      step: number of the step.
      same: each replica has the same examples in the same order on both sides.
      sizes: (left, right) number of examples of each replica; 1 each where only digests are recorded.
      shared: part, 0 to 1, of the left's examples that the right has anywhere in the step.
      same_on_all: (left, right) whether every replica has the same batch; false for a lone replica.
      shift: k where the right's batch is the left's of step + k; None if it is no other step's, or its own.
    """

    step: int
    same: bool
    sizes: tuple[list[int], list[int]]
    shared: float
    same_on_all: tuple[bool, bool]
    shift: int | None


def measure_batches(steps: Sequence[ComparedStep]) -> list[ComparedBatch]:
    """Returns the batches of the steps in which both sides identify their examples in the same way."""
    by_example = all(step.left.examples and step.right.examples for step in steps)
    known = [(s.left.step, _identities(s.left, by_example), _identities(s.right, by_example)) for s in steps]
    known = [(number, left, right) for number, left, right in known if _comparable(left, right)]
    lefts = {number: _count(left) for number, left, _ in known}
    return [_compare_batch(number, left, right, lefts) for number, left, right in known]


def _comparable(left: list[tuple[Identity, ...]], right: list[tuple[Identity, ...]]) -> bool:
    """Whether both sides identify a batch, and the first replica's is empty on both sides or on neither."""
    return bool(left and right) and len(left[0][:1]) == len(right[0][:1])


def _compare_batch(
    number: int,
    left: list[tuple[Identity, ...]],
    right: list[tuple[Identity, ...]],
    lefts: Mapping[int, collections.Counter[Identity]],
) -> ComparedBatch:
    left_count, right_count = _count(left), _count(right)
    return ComparedBatch(
        step=number,
        same=left == right,
        sizes=([len(ids) for ids in left], [len(ids) for ids in right]),
        shared=sum((left_count & right_count).values()) / max(1, sum(left_count.values())),
        same_on_all=(_same_on_all(left), _same_on_all(right)),
        shift=None if left_count == right_count else _shift(number, right_count, lefts),
    )


def _shift(
    number: int, wanted: collections.Counter[Identity], lefts: Mapping[int, collections.Counter[Identity]]
) -> int | None:
    """The smallest k, in magnitude, for which the left's step `number + k` has the wanted examples."""
    candidates = [k for k in range(-FARTHEST, FARTHEST + 1) if k and lefts.get(number + k) == wanted]
    return min(candidates, key=abs) if candidates else None


def _same_on_all(replicas: list[tuple[Identity, ...]]) -> bool:
    return len(replicas) > 1 and all(ids == replicas[0] for ids in replicas[1:])


def _identities(record: StepRecord, by_example: bool) -> list[tuple[Identity, ...]]:
    """Over replicas: the examples' ids where both sides have them in every step, or the digest of the whole batch."""
    if by_example:
        return [tuple(int(i) for i in ids) for ids in record.examples]
    return [(digest,) for digest in record.digests]


def _count(replicas: list[tuple[Identity, ...]]) -> collections.Counter[Identity]:
    return collections.Counter(identity for ids in replicas for identity in ids)
