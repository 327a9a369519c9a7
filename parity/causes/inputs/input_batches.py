"""Causes in the input: which replica sees which examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.inputs.faulty_batches import OtherExamples, change_shards, interleaved
from parity.comparison import stages
from workloads import sources
from workloads.program import Arrays
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.causes.inputs.faulty_batches import Shards
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.facts.batches import ComparedBatch
    from workloads.job import Job


def data_batch_size(evidence: Evidence) -> Finding | None:
    """Recognizes DATA_BATCH_SIZE: replicas have other numbers of examples than legacy's towers."""
    batch = next((batch for batch in _differing(evidence) if batch.sizes[0] != batch.sizes[1]), None)
    if batch is None:
        return None
    left, right = batch.sizes
    batched_by = ""
    if len(set(right)) == 1:
        batched_by = ": the dataset is batched by " + ("the global batch" if sum(right) > sum(left) else "a part of it")
    return Finding(
        f"At step {batch.step} the port's replicas see {_each(right)} examples each where legacy's towers see "
        f"{_each(left)}{batched_by}.",
        HIGH,
        "counted from the examples that were recorded",
        {"sizes": tuple(right)},
    )


def data_shard(evidence: Evidence) -> Finding | None:
    """Recognizes DATA_SHARD: in every step that differs, all replicas of the port, but not of legacy, see one batch."""
    batches = _differing(evidence)
    if not batches or not all(batch.same_on_all[1] and not batch.same_on_all[0] for batch in batches):
        return None
    return Finding(
        "All replicas of the port see the same examples; legacy's towers each have their own "
        f"({batches[0].shared:.0%} of legacy's examples are seen).",
        HIGH,
        f"the examples' hashes agree between replicas in {counted(len(batches), 'step')}",
        {"replica": 0},
    )


def data_order(evidence: Evidence) -> Finding | None:
    """Recognizes DATA_ORDER: the same examples in every step, on other replicas or in another order."""
    batches = _differing(evidence)
    if not batches or not all(batch.shared == 1 and batch.sizes[0] == batch.sizes[1] for batch in batches):
        return None
    return Finding(
        "The global batch has the same examples, dealt to the replicas in another order.",
        HIGH,
        f"the examples' hashes agree as sets in {counted(len(batches), 'step')}",
        {"places": _places(evidence)},
    )


def data_offset(evidence: Evidence) -> Finding | None:
    """Recognizes DATA_OFFSET: at least two batches are legacy's of another step, always equally far away."""
    shifts = [batch.shift for batch in _differing(evidence) if batch.shift is not None]
    if len(shifts) < 2 or len(set(shifts)) > 1:
        return None
    return Finding(
        f"The port's batch of step t is legacy's of step t {shifts[0]:+d}.",
        HIGH,
        f"the examples' hashes agree in {counted(len(shifts), 'step')}",
        {"shift": shifts[0]},
    )


def data_other(evidence: Evidence) -> Finding | None:
    """Recognizes DATA_OTHER: batches differ, and no other cause of this file explains it."""
    batches = _differing(evidence)
    others = (data_batch_size, data_shard, data_order, data_offset)
    if not batches or any(criterion(evidence) for criterion in others):
        return None
    shared = [batch.shared for batch in batches]
    return Finding(
        f"The port sees other examples: {float(np.mean(shared)):.0%} of legacy's in {len(batches)} of "
        f"{counted(len(evidence.batches), 'step')}.",
        HIGH if max(shared) < 1 else MEDIUM,
        "by the examples' hashes, which change with a bit of their content: another shuffle, shard or preprocessing",
    )


def _places(evidence: Evidence) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Returns, for each step, the places in legacy's global batch that the port's examples have, in the port's order.

    One entry, for step -1, stands for all steps if they agree; there are none where no examples are recorded.
    """
    rows = []
    for step in evidence.steps:
        if not step.left.examples or not step.right.examples:
            return ()
        left, right = (np.concatenate(record.examples).tolist() for record in (step.left, step.right))
        free: dict[int, list[int]] = {}
        for place, example in enumerate(left):
            free.setdefault(example, []).append(place)
        rows.append((step.left.step, tuple(free[example].pop(0) for example in right)))
    alike = len({places for _, places in rows}) == 1
    return ((-1, rows[0][1]),) if alike else tuple(rows)


def _differing(evidence: Evidence) -> list[ComparedBatch]:
    return [batch for batch in evidence.batches if not batch.same]


def _each(sizes: Sequence[int]) -> str:
    """Returns the one size, or all sizes if they differ."""
    return str(sizes[0]) if len(set(sizes)) == 1 else ", ".join(map(str, sizes))


def _inject_batch_size(finding: Finding, setup: Setup) -> injection.Change | None:
    sizes = finding.constants["sizes"]
    return injection.in_job(lambda job: {"global_batch": sum(sizes)}) if len(set(sizes)) == 1 else None


def _inject_one_batch(finding: Finding, setup: Setup) -> injection.Change:
    replica = finding.constants["replica"]
    return change_shards("Same", lambda shards, job, step: [shards(step)[replica]] * job.replicas)


def _inject_shift(finding: Finding, setup: Setup) -> injection.Change:
    return change_shards("Shifted", lambda shards, job, step: shards(max(step + finding.constants["shift"], 0)))


def _inject_places(finding: Finding, setup: Setup) -> injection.Change | None:
    """Injects the order in which the port deals the examples of each step; None where none is known."""
    places = dict(finding.constants["places"])
    if not places:
        return None

    def deal(shards: Shards, job: Job, step: int) -> list[Arrays]:
        parts = shards(step)
        order = list(places.get(-1) or places.get(step) or range(job.global_batch))
        whole = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
        return sources.shard(whole, job.replicas)

    return change_shards("Dealt", deal)


CAUSES = (
    Cause(
        id="DATA_BATCH_SIZE",
        stage=stages.BATCH,
        title="replicas see another number of examples",
        signature="The sizes of the replicas' batches differ: B where legacy has b, or a short last batch",
        why="distribute_datasets_from_function expects per-replica batches, experimental_distribute_dataset global "
        "ones. The last batch of an epoch is split unevenly, and may leave a replica without examples.",
        fix="Batch by the per-replica or the global size, as the call expects; use drop_remainder=True.",
        criterion=data_batch_size,
        change=_inject_batch_size,
        faults=(
            Fault(
                "replicas_batched_by_the_global_batch",
                injection.in_job(lambda job: {"global_batch": job.global_batch * job.replicas}),
            ),
        ),
        pitfall="R33",
    ),
    Cause(
        id="DATA_SHARD",
        stage=stages.BATCH,
        title="the input is not sharded",
        signature="The hashes of the examples are the same on all replicas",
        why="Every replica (or worker, with auto-sharding off) reads the whole dataset from its start.",
        fix="Shard by InputContext.input_pipeline_id, or let the strategy distribute one global dataset.",
        criterion=data_shard,
        change=_inject_one_batch,
        faults=(
            Fault(
                "every_replica_the_same_batch",
                change_shards("Same", lambda shards, job, step: shards(step)[:1] * job.replicas),
            ),
        ),
        pitfall="R32",
    ),
    Cause(
        id="DATA_ORDER",
        stage=stages.BATCH,
        title="examples are dealt in another order",
        signature="The hashes of a step's examples agree as sets, but not in order",
        why="A strategy gives replica r the r-th slice of the global batch; towers took examples from a queue.",
        fix="Record which tower had which examples, or compare sums over replicas only; fix the seed of the shuffle.",
        criterion=data_order,
        change=_inject_places,
        faults=(
            Fault("shards_in_reverse", change_shards("Reversed", lambda shards, job, step: shards(step)[::-1])),
            Fault("examples_interleaved", change_shards("Interleaved", interleaved)),
        ),
        pitfall="R32",
    ),
    Cause(
        id="DATA_OFFSET",
        stage=stages.BATCH,
        title="the input is ahead or behind",
        signature="The batch of step t is legacy's of another step",
        why="A batch was taken to build the model or to look at it, or a step was restored without its input.",
        fix="Start the input at the step where training starts.",
        criterion=data_offset,
        change=_inject_shift,
        faults=(Fault("one_batch_ahead", change_shards("Ahead", lambda shards, job, step: shards(step + 1))),),
    ),
    Cause(
        id="DATA_OTHER",
        stage=stages.BATCH,
        title="other examples",
        signature="The hashes of a step's examples do not agree as sets",
        why="Another shuffle seed, another shard, or preprocessing that changes a bit.",
        fix="Feed both sides the same arrays for the comparison.",
        criterion=data_other,
        faults=(Fault("another_shuffle", injection.in_source(lambda original: OtherExamples)),),
    ),
)
