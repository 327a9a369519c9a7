"""One training step as one replica runs it, under `strategy.run`."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple

import tensorflow as tf

from modern.collectives import exchange
from modern.mirrored import moving_average
from workloads.numerics import combining
from workloads.scope import Frame, tower_loss, trace_noise


class Seen(NamedTuple):
    """What one replica's step shows; see `workloads.program.StepRecord`."""

    loss: Any
    gradients: Dict[str, Any]
    combined: Dict[str, Any]
    learning_rate: Any
    proposals: Dict[str, Any]
    masks: Dict[str, Any]


class ReplicaFrame(Frame):
    """Answers a model with the values of one replica's variables, each read once a step.

    Args:
      values: {variable name: tensor}.
      noises: {noise name: tensor} drawn already, or empty to draw them on the way.
      stages: see `Frame.devices`.
    """

    def __init__(self, job, step, replica, values, noises, stages=()):
        super().__init__(job.dtype, job.seed, step, replica, stages)
        self._values = values
        self._noises = noises

    def variable(self, name, shape, initializer, trainable):
        return self._values[name]

    def noise(self, name, shape):
        return self._noises[name] if name in self._noises else super().noise(name, shape)


class ReplicaStep:
    """The step of a `Job` as a function of one replica's batch.

    Args:
      job, options: what to do.
      variables: `MirroredState`.
      rules: `update_rules.Tf1Rules` or `keras_rules.KerasRules`.
      first: number of the first replica in this process.
    """

    #: Devices that the model's layers are divided among; see `Frame.devices`.
    stages = ()

    def __init__(self, job, options, variables, rules, first=0):
        self._job = job
        self._options = options
        self._variables = variables
        self._rules = rules
        self._first = first
        #: How often a replica's step was traced: Python runs this function only then.
        self.traces = 0
        #: Whether it last ran without a graph.
        self.eager = False

    def __call__(self, batch):
        """Runs the step on {input name: tensor [per-replica batch, *shape]}; returns `Seen`."""
        self.traces += 1
        self.eager = tf.executing_eagerly()
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        workload, local = self._job.workload, self._variables.local(replica - self._first)
        step = local.step.read_value()
        rate = self._rate(step)
        loss, gradients, updates, masks = self._forward_backward(local, step, replica, batch)
        combined = self._update(context, local, step, gradients, rate)
        self._update_statistics(context, local, updates)
        tf.raw_ops.AssignAddVariableOp(resource=local.step.handle, value=tf.ones([], tf.int64))
        if workload.moving_average is not None:
            self._update_averages(local)
        return Seen(loss, gradients, combined, rate, updates, masks)

    def _update(self, context, local, step, gradients, rate):
        """Updates weights and slots; returns {weight: what the optimizer got}."""
        combined = self._combine(context, gradients)
        self._rules.apply(local, combined, rate)
        return combined

    def _rate(self, step):
        return self._job.workload.learning_rate(step, self._job.global_batch)

    def _update_averages(self, local):
        moving_average.update(self._job.workload.moving_average, local)

    def _forward_backward(self, local, step, replica, batch):
        """(loss, {weight: gradient}, {statistic: proposed value}, {dropout: mask}) of this replica."""
        weights = {name: self._read(variable) for name, variable in local.weights.items()}
        statistics = {name: self._read(variable) for name, variable in local.statistics.items()}

        def compute(batch, weights, statistics, step, noises):
            frame = ReplicaFrame(self._job, step, replica, {**weights, **statistics}, noises, self.stages)
            differentiate = _tape if self._options.autodiff == "tape" else _graph
            loss, gradients = differentiate(lambda: tower_loss(self._job.workload, frame, batch), weights, self.stages)
            return loss, gradients, dict(frame.updates), dict(frame.masks)

        if not self._options.xla:
            return compute(batch, weights, statistics, step, {})
        # XLA draws by another algorithm; what is drawn outside is the same as ever.
        shapes = trace_noise(self._job.workload, self._job.per_replica_batch, self._job.dtype)
        frame = ReplicaFrame(self._job, step, replica, {}, {})
        noises = {name: frame.noise(name, shape) for name, shape in shapes.items()}
        return tf.function(compute, jit_compile=True, autograph=False)(batch, weights, statistics, step, noises)

    def _read(self, variable):
        # `read_value` adds an identity, which would carry every weight to the current device and back.
        with tf.device(variable.device if self.stages else None):
            return variable.read_value()

    def _combine(self, context, gradients):
        """{weight: what the optimizer gets}: clipped here, combined, clipped again, as the workload says."""
        workload = self._job.workload
        clipped = combining.clip(list(gradients.values()), workload.clip, "tower")
        how = tf.distribute.ReduceOp.MEAN if workload.combine == "mean" else tf.distribute.ReduceOp.SUM
        combined = exchange.all_reduce(context, how, clipped)
        return dict(zip(gradients, combining.clip(combined, workload.clip, "combined")))

    def _update_statistics(self, context, local, updates):
        if not updates:
            return
        values = list(updates.values())
        if self._job.workload.statistics == "mean_of_towers":
            values = exchange.all_reduce(context, tf.distribute.ReduceOp.MEAN, values)
        else:
            values = exchange.from_first(context, values)
        for name, value in zip(updates, values):
            tf.raw_ops.AssignVariableOp(resource=local.statistics[name].handle, value=value)


def _graph(loss_of, weights, stages):
    """`tf.gradients`: adds the contributions of a weight that is used many times in tower code's order."""
    loss = loss_of()
    values = list(weights.values())
    # A stage's gradients are computed where the stage is.
    gradients = tf.compat.v1.gradients(loss, values, colocate_gradients_with_ops=bool(stages))
    return loss, dict(zip(weights, combining.dense(gradients, values)))


def _tape(loss_of, weights, stages):
    values = list(weights.values())
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(values)
        loss = loss_of()
    return loss, dict(zip(weights, combining.dense(tape.gradient(loss, values), values)))
