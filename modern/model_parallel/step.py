"""A training step whose layers are on several devices: one function, through which micro-batches go side by side."""

from __future__ import annotations

import tensorflow as tf

from modern.mirrored.replica_step import ReplicaStep, Seen
from workloads.numerics import combining


class StagesStep(ReplicaStep):
    """The step of a `Job` as a function of all its replicas' batches; here a replica is a micro-batch.

    A device works on one micro-batch while the next device works on the one before: the function is a graph, and what
    does not wait for each other runs at the same time.

    Args:
      stages: the devices.
    """

    def __init__(self, job, options, variables, rules, stages):
        super().__init__(job, options, variables, rules)
        self.stages = tuple(stages)

    def __call__(self, batches):
        """Runs the step on a list over micro-batches of {input name: tensor}; `Seen` with lists over micro-batches."""
        self.traces += 1
        workload, local = self._job.workload, self._variables.local(0)
        step = local.step.read_value()
        rate = self._rate(step)
        passes = [self._forward_backward(local, step, number, batch) for number, batch in enumerate(batches)]
        losses, gradients, updates, masks = (list(part) for part in zip(*passes))
        beside = {name: weight.device for name, weight in local.weights.items()}
        combined = combining.combine_gradients(workload, gradients, self._options.average, beside)
        self._rules.apply(local, combined, rate)
        for name in updates[0]:
            proposed = [own[name] for own in updates]
            value = combining.combine(proposed, "mean", self._options.average)
            value = proposed[0] if workload.statistics == "first_tower" else value
            tf.raw_ops.AssignVariableOp(resource=local.statistics[name].handle, value=value)
        tf.raw_ops.AssignAddVariableOp(resource=local.step.handle, value=tf.ones([], tf.int64))
        if workload.moving_average is not None:
            self._update_averages(local)
        return Seen(losses, gradients, combined, rate, updates, masks)
