"""The values that a training step hands out, and the `StepRecord` that is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from workloads.program import Arrays, State, StepRecord
from workloads.records.writer import batch_digest, example_ids

#: Tensors by the name of their weight, statistic, input or dropout.
Tensors = dict[str, tf.Tensor]


class StepTensors(NamedTuple):
    """The observed values of one step; the fields are those of `workloads.program.StepRecord`.

    Inside a replica's step every field is that replica's tensor or {name: tensor}; `strategy.run` turns these into
    per-replica values. In a step that holds all replicas, and once the values are on the host, `loss`, `gradients`,
    `proposals`, `masks` and taps are lists over replicas. Taps are () where they are off.
    """

    loss: Any
    gradients: Any
    combined: Any
    learning_rate: Any
    proposals: Any
    masks: Any
    taps: Any = ()
    tap_gradients: Any = ()


def replica_arrays(strategy: tf.distribute.Strategy, values: Mapping[str, Any], replicas: int) -> list[Arrays]:
    """Copies per-replica values to the host.

    Args:
      strategy: of the replicas.
      values: {name: per-replica value}.
      replicas: number of replicas in this process.

    Returns:
      Each replica's {name: array}.
    """
    local = {name: strategy.experimental_local_results(value) for name, value in values.items()}
    return [{name: copies[replica].numpy() for name, copies in local.items()} for replica in range(replicas)]


def step_record(
    step: int, values: StepTensors, batches: Sequence[Arrays], state: State, drift: Sequence[str] = ()
) -> StepRecord:
    """Builds the record of one step.

    Args:
      step: number of the step.
      values: on the host, with lists over replicas.
      batches: each replica's {input name: array}.
      state: after the step.
      drift: names of variables whose copies disagree.

    Returns:
      The record, with the batches' digests and example ids in place of the batches.
    """
    return StepRecord(
        step=step,
        digests=[batch_digest(batch) for batch in batches],
        losses=[np.asarray(loss) for loss in values.loss],
        gradients=values.gradients,
        combined=values.combined,
        learning_rate=np.asarray(values.learning_rate),
        state=state,
        drift=list(drift),
        examples=[example_ids(batch) for batch in batches],
        masks=values.masks,
        proposals=values.proposals,
        taps=list(values.taps),
        tap_gradients=list(values.tap_gradients),
    )
