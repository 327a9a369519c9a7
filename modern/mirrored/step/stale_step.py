"""A training step whose gradients are applied one by one and late, under `strategy.run`.

Which gradient is applied when is defined in `workloads.numerics.staleness`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from modern.collectives import exchange
from modern.mirrored.step.replica_step import ReplicaStep
from modern.mirrored.step.step_tensors import Tensors
from workloads.numerics import combining, staleness

if TYPE_CHECKING:
    from modern.mirrored.state.variables import LocalState


class StaleStep(ReplicaStep):
    """`ReplicaStep` for a job with `staleness`: every copy gets every replica's gradients, in their order."""

    def _update(
        self,
        context: tf.distribute.ReplicaContext,
        local: LocalState,
        step: tf.Tensor,
        gradients: Tensors,
        rate: tf.Tensor,
    ) -> Tensors:
        names, count, late = list(gradients), self._job.replicas, self._job.staleness or 0
        made = exchange.gather(context, combining.clip_alone(list(gradients.values()), self._job.workload.clip))
        queue = [
            {name: local.slots[staleness.slot_name(name)].read_value()[place] for name in names}
            for place in range(late)
        ]
        queue += [{name: made[weight][replica] for weight, name in enumerate(names)} for replica in range(count)]
        for number, update in enumerate(queue[:count]) if local.updates else ():
            if number >= late:
                self._rules.apply(local, update, rate)
            else:
                self._apply_if(step * count + number >= late, local, update, rate)
        if late and local.updates:
            for name in names:
                waiting = tf.stack([update[name] for update in queue[count:]])
                tf.raw_ops.AssignVariableOp(resource=local.slots[staleness.slot_name(name)].handle, value=waiting)
        return staleness.label_updates(queue[:count])

    def _apply_if(self, exists: tf.Tensor, local: LocalState, update: Tensors, rate: tf.Tensor) -> None:
        """Applies `update` if it exists: before the first gradient is due, no slot may change either."""

        def apply() -> tf.Tensor:
            self._rules.apply(local, update, rate)
            return tf.constant(True)

        tf.cond(exists, apply, lambda: tf.constant(False))
