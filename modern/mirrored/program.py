"""`ModernProgram`: the workload under a `tf.distribute` strategy, as a `Program`."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from modern.collectives import all_reduce, exchange
from modern.collectives.strategy import Workers, mirrored
from modern.mirrored import step_loop, update_rules
from modern.mirrored.inputs import ReplicaInput
from modern.mirrored.replica_step import ReplicaStep
from modern.mirrored.stale_step import StaleStep
from modern.mirrored.traced_program import TracedProgram
from modern.mirrored.variables import MirroredState
from workloads import schedules, scope
from workloads.program import StepRecord, initial_state
from workloads.records.writer import batch_digest, example_ids


class ModernProgram(TracedProgram):
    """Runs `job` under `MirroredStrategy`, or one worker's share of it under `MultiWorkerMirroredStrategy`.

    What it shows of a step is what this process's own replicas see.

    Args:
      job: the `Job`.
      source: `sources.Source` of its batches.
      options: `ModernOptions`.
      devices: device of each replica in this process, e.g. ["CPU:0", "CPU:1"].
      worker: `cluster.Worker` that this process is, or None where there are no others.
    """

    #: What a replica runs in synchronous training; planted faults put another one here.
    step_class = ReplicaStep

    def __init__(self, job, source, options, devices, worker=None):
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": options.exact})
        self._job = job
        self._options = options
        self._devices = devices
        self._alone = worker is None
        self._specs = scope.trace(job.workload, job.per_replica_batch, job.dtype)
        self.strategy = mirrored(devices, options) if worker is None else Workers(worker, devices, options)
        first = 0 if worker is None else worker.index * len(devices)
        self._here = range(first, first + len(devices))
        state = initial_state(job, self._specs, scope.initial_values(self._specs, job.seed))
        self._variables = MirroredState(self.strategy, state)
        self._rules = self._make_rules(state)
        step_class = self.step_class if job.staleness is None else StaleStep
        self._replica_step = step_class(job, options, self._variables, self._rules, first)
        self._input = ReplicaInput(job, source, self.strategy, self._here)
        self._step = 0
        self._gather = None

    def variables(self):
        return self._specs

    def describe(self):
        options = self._options
        return {
            "program": "tf.distribute." + ("MirroredStrategy" if self._alone else "MultiWorkerMirroredStrategy"),
            "devices": ", ".join(self._devices),
            "input": "resident" if self._input.resident else "dataset",
            "variables on": "every replica",
            "reduction": all_reduce.describe(self.strategy),
            "update rules": self._rules.describe(),
            "autodiff": "tf.gradients" if options.autodiff == "graph" else "tf.GradientTape",
            "steps per call": str(options.steps_per_call),
            "XLA": "on" if options.xla else "off",
            "Grappler": "off" if options.exact else "on",
        }

    def load(self, state):
        super().load(state)
        self._rules.load(state, self._rate(state.step - 1))

    def state(self):
        return self._read()[0]

    def step(self):
        self._start()
        seen, batch = self._observed()
        local = self.strategy.experimental_local_results
        state, drift = self._read()
        batches = self._on_each(batch)
        record = StepRecord(
            step=self._step,
            digests=[batch_digest(batch) for batch in batches],
            losses=[np.asarray(loss) for loss in local(seen.loss)],
            gradients=self._on_each(seen.gradients),
            combined={name: local(value)[0].numpy() for name, value in seen.combined.items()},
            learning_rate=local(seen.learning_rate)[0].numpy(),
            state=state,
            drift=drift,
            examples=[example_ids(batch) for batch in batches],
            masks=self._on_each(seen.masks),
            proposals=self._on_each(seen.proposals),
        )
        self._step += 1
        return record

    def run(self, steps):
        self._start()
        if self._many is None:
            self._many = step_loop.many(self._run_once, len(self._here), self._job.dtype)
        losses = step_loop.run(self._many, steps, self._options.steps_per_call)
        self._step += steps
        return losses if self._alone else list(self._everyones(losses).flatten())

    def agree(self, number):
        return number if self._alone else int(self._everyones([number]).max())

    def _everyones(self, numbers):
        """[workers, len(numbers)] float64: what every worker says, all of which must call this at the same step."""
        if self._gather is None:
            gathered = lambda value: exchange.gather(tf.distribute.get_replica_context(), [value])[0]  # noqa: E731
            self._gather = tf.function(lambda value: self.strategy.run(gathered, (value,)), autograph=False)
        answers = self._gather(tf.constant(numbers, tf.float64))
        local = self.strategy.experimental_local_results
        return np.array([local(answer)[0] for answer in answers[:: len(self._here)]])

    def traces(self):
        """How often the step was traced in Python so far."""
        return self._replica_step.traces

    def runs_eagerly(self):
        """Whether the step last ran op by op, without a graph."""
        return self._replica_step.eager

    def _start(self):
        """Opens the input at the current step; what is traced from here on reads it."""
        if self._batches is None:
            self._batches = self._input.start(self._step)
            self._observed = tf.function(self._run_observed, autograph=False)
            self._many = None

    def _run_observed(self):
        batch = self._input.take(self._batches)
        return self.strategy.run(self._replica_step, (batch,)), batch

    def _on_each(self, values):
        """[{name: array}] over replicas, of {name: per-replica value}."""
        local = self.strategy.experimental_local_results
        return [{name: local(value)[r].numpy() for name, value in values.items()} for r in range(len(self._here))]

    def _run_once(self):
        """One step's losses, one per replica."""
        seen = self.strategy.run(self._replica_step, (self._input.take(self._batches),))
        return self.strategy.experimental_local_results(seen.loss)

    def _read(self):
        state, drift = self._variables.read()
        state.slots = self._rules.slots(state, self._rate(state.step - 1))
        return state, drift

    def _make_rules(self, state):
        if self._options.update_rules == "tf1":
            return update_rules.Tf1Rules(self._job.workload.optimizer)
        from modern.mirrored.keras_rules import KerasRules  # only when asked for: Keras takes a second to import

        rules = KerasRules(self._job.workload, self._variables, self._job.replicas)
        rules.load(state, self._rate(-1))
        return rules

    def _rate(self, step):
        """The learning rate that step used, as a float: Keras keeps it inside a slot."""
        if self._options.update_rules == "tf1":
            return None
        return schedules.at(self._job.workload.learning_rate, max(step, 0), self._job.global_batch)
