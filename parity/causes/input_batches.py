"""Causes in the input: which replica sees which examples."""

from __future__ import annotations

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.comparison import stages
from workloads import sources


def _unlike(evidence):
    return [batch for batch in evidence.batches if not batch.same]


def sizes(evidence):
    for batch in _unlike(evidence):
        left, right = batch.sizes
        if left != right:
            total = sum(right) / sum(left)
            return Finding(
                "At step {} the port's replicas see {} examples each where legacy's towers see {}{}.".format(
                    batch.step,
                    _counts(right),
                    _counts(left),
                    ": the dataset is batched by {}".format("the global batch" if total > 1 else "a part of it")
                    if len(set(right)) == 1
                    else "",
                ),
                HIGH,
                "counted from the examples that were recorded",
            )
    return None


def _counts(values):
    return str(values[0]) if len(set(values)) == 1 else ", ".join(map(str, values))


def not_sharded(evidence):
    batches = _unlike(evidence)
    if not batches or not all(batch.same_on_all[1] and not batch.same_on_all[0] for batch in batches):
        return None
    return Finding(
        f"All replicas of the port see the same examples; legacy's towers each have their own ({batches[0].shared:.0%} of legacy's "
        "examples are seen).",
        HIGH,
        f"the examples' hashes agree between replicas in {len(batches)} steps",
    )


def order(evidence):
    batches = _unlike(evidence)
    if not batches or not all(batch.shared == 1 and batch.sizes[0] == batch.sizes[1] for batch in batches):
        return None
    return Finding(
        "The global batch has the same examples, dealt to the replicas in another order.",
        HIGH,
        f"the examples' hashes agree as sets in {len(batches)} steps",
    )


def shifted(evidence):
    batches = _unlike(evidence)
    shifts = [batch.shift for batch in batches if batch.shift is not None]
    if len(shifts) < 2 or len(set(shifts)) > 1:
        return None
    return Finding(
        f"The port's batch of step t is legacy's of step t {shifts[0]:+d}.",
        HIGH,
        f"the examples' hashes agree in {len(shifts)} steps",
    )


def other(evidence):
    batches = _unlike(evidence)
    if not batches or any(criterion(evidence) for criterion in (sizes, not_sharded, order, shifted)):
        return None
    shared = [batch.shared for batch in batches]
    return Finding(
        f"The port sees other examples: {float(np.mean(shared)):.0%} of legacy's in {len(batches)} of {len(evidence.batches)} steps.",
        HIGH if max(shared) < 1 else MEDIUM,
        "by the examples' hashes, which change with a bit of their content: another shuffle, shard or preprocessing",
    )


def _source(name, shards):
    """`injection.source` of a source whose `shards(step)` are changed by `shards(original, job, step)`."""

    def make(original):
        def build(job):
            made = original(job)
            first = made.shards
            made.shards = lambda step: shards(first, job, step)
            return made

        build.__name__ = name
        return build

    return injection.in_source(make)


def _interleaved(first, job, step):
    whole = {name: np.concatenate([s[name] for s in first(step)]) for name in first(step)[0]}
    return [{name: value[i :: job.replicas] for name, value in whole.items()} for i in range(job.replicas)]


class _OtherSeed(sources.Synthetic):
    def _examples(self, step):
        return super()._examples(step + 1000)


CAUSES = (
    Cause(
        "DATA_BATCH_SIZE",
        stages.BATCH,
        "replicas see another number of examples",
        "sizes of the replicas' batches differ: B for b, or a short last batch",
        "distribute_datasets_from_function wants per-replica batches, experimental_distribute_dataset global ones; the "
        "last batch of an epoch is split unevenly, and may leave a replica none.",
        "Batch by the per-replica or the global size as the call wants it; drop_remainder=True.",
        sizes,
        (
            Fault(
                "replicas_batched_by_the_global_batch",
                injection.in_job(lambda job: {"global_batch": job.global_batch * job.replicas}),
            ),
        ),
        "R33",
    ),
    Cause(
        "DATA_SHARD",
        stages.BATCH,
        "the input is not sharded",
        "all replicas have the same hashes",
        "Every replica (or worker, with auto-sharding off) reads the whole dataset from its start.",
        "Shard by InputContext.input_pipeline_id, or let the strategy distribute one global dataset.",
        not_sharded,
        (
            Fault(
                "every_replica_the_same_batch", _source("Same", lambda first, job, step: first(step)[:1] * job.replicas)
            ),
        ),
        "R32",
    ),
    Cause(
        "DATA_ORDER",
        stages.BATCH,
        "examples are dealt in another order",
        "batch hashes agree as sets, not in order",
        "A strategy gives replica r the r-th slice of the global batch; towers on a queue took what came.",
        "Record which tower had which examples, or compare sums over replicas only; fix the shuffle's seed.",
        order,
        (
            Fault("shards_in_reverse", _source("Reversed", lambda first, job, step: first(step)[::-1])),
            Fault("examples_interleaved", _source("Interleaved", _interleaved)),
        ),
        "R32",
    ),
    Cause(
        "DATA_OFFSET",
        stages.BATCH,
        "the input is ahead or behind",
        "the batch of step t is another step's",
        "A batch that was taken to build the model or to look at, or a restored step without its input.",
        "Start the input where the step is.",
        shifted,
        (Fault("one_batch_ahead", _source("Ahead", lambda first, job, step: first(step + 1))),),
    ),
    Cause(
        "DATA_OTHER",
        stages.BATCH,
        "other examples",
        "hashes do not agree as sets",
        "Another shuffle seed, another shard, or preprocessing that changes a bit.",
        "Feed both sides the same arrays for the comparison.",
        other,
        (Fault("another_shuffle", injection.in_source(lambda original: _OtherSeed)),),
    ),
)
