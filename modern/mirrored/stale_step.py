"""A training step whose gradients are applied one by one, and late: `workloads.numerics.staleness`, under `strategy.run`."""

from __future__ import annotations

import tensorflow as tf

from modern.collectives import exchange
from modern.mirrored.replica_step import ReplicaStep
from workloads.numerics import combining, staleness


class StaleStep(ReplicaStep):
    """`ReplicaStep` for a job with `staleness`: every replica applies every replica's gradients, in their order."""

    def _update(self, context, local, step, gradients, rate):
        names, count, late = list(gradients), self._job.replicas, self._job.staleness
        made = exchange.gather(context, combining.clip_alone(list(gradients.values()), self._job.workload.clip))
        queue = [
            {name: local.slots[staleness.slot(name)].read_value()[place] for name in names} for place in range(late)
        ]
        queue += [{name: made[weight][replica] for weight, name in enumerate(names)} for replica in range(count)]
        for number, update in enumerate(queue[:count]):
            self._apply(local, step * count + number >= late, update, rate, always=number >= late)
        if late:
            for name in names:
                waiting = tf.stack([update[name] for update in queue[count:]])
                tf.raw_ops.AssignVariableOp(resource=local.slots[staleness.slot(name)].handle, value=waiting)
        return staleness.names(queue[:count])

    def _apply(self, local, made, update, rate, always):
        """Applies `update` if there is one: before that, no slot may change either."""
        if always:
            self._rules.apply(local, update, rate)
            return

        def apply():
            self._rules.apply(local, update, rate)
            return tf.constant(True)

        tf.cond(made, apply, lambda: tf.constant(False))
