"""`LiftedProgram`: an old program's own graph under a `tf.distribute` strategy, as a `Program`."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from modern.collectives import all_reduce
from modern.collectives.strategy import mirrored_strategy
from modern.lifted.step import LiftedStep
from modern.mirrored.inputs import ReplicaInput
from modern.mirrored.traced_program import TracedProgram
from modern.mirrored.variables import MirroredState
from workloads.lifted.workload import running
from workloads.program import StepRecord
from workloads.records.writer import batch_digest


class LiftedProgram(TracedProgram):
    """Runs a lifted `job` under `MirroredStrategy`.

    Args:
      job: a `Job` of a `LiftedWorkload`.
      source: `Source` of its batches.
      options: `ModernOptions`.
      devices: device of each replica.
    """

    def __init__(self, job, source, options, devices):
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": options.exact})
        self._job, self._options, self._devices = job, options, devices
        self._plan = job.workload.plan
        self.strategy = mirrored_strategy(devices, options)
        start = job.workload.initial_state()
        self._variables = MirroredState(self.strategy, start)
        noise = getattr(source, "noise", "keyed")
        phases = range(len(self._plan.phases))
        self._steps = [LiftedStep(job, phase, self._variables, options, noise) for phase in phases]
        self._input = ReplicaInput(job, source, self.strategy, range(job.replicas))
        self._step = start.step
        # Each tower's own, such as a recurrent state: replicas that run one tower's graph keep theirs apart.
        self._states = {v.name for v in self._plan.variables if v.role == "state"}

    def variables(self):
        return self._job.workload.variables()

    def describe(self):
        options = self._options
        return {
            "program": "tf.distribute.MirroredStrategy",
            "devices": ", ".join(self._devices),
            "input": "resident" if self._input.resident else "dataset",
            "variables on": "every replica",
            "reduction": self._reduction(),
            "update rules": self._job.workload.update_rules(),
            "autodiff": "tf.gradients of the lifted loss" if options.autodiff == "new" else "the graph's own gradients",
            "steps per call": str(options.steps_per_call),
            "Grappler": "off" if options.exact else "on",
        }

    def _reduction(self):
        about = self._steps[0].reduction()
        return about if about.startswith("as written") else f"{about}, by {all_reduce.describe(self.strategy)}"

    def step(self):
        self._start()
        with running("the port"):
            seen, batch = self._observed[self._step % len(self._steps)]()
        local = self.strategy.experimental_local_results
        state, drift = self._variables.read()
        replicas = range(self._job.replicas)
        batch = {name: local(value) for name, value in batch.items()}
        record = StepRecord(
            step=self._step,
            digests=[batch_digest({n: v[r].numpy() for n, v in batch.items()}) for r in replicas],
            losses=[np.asarray(loss) for loss in local(seen.losses[0])] if seen.losses else [],
            gradients=[self._gradients(local, seen, r) for r in replicas],
            combined={name: local(value)[0].numpy() for name, value in seen.combined.items()},
            learning_rate=np.array([local(rate)[0].numpy() for rate in seen.rates]),
            state=state,
            drift=[name for name in drift if name not in self._states],
        )
        self._step += 1
        return record

    def _gradients(self, local, seen, replica):
        step = self._step % len(self._steps)
        labels = self._plan.phases[step].gradients[self._steps[step].tower(replica)]
        return {label: local(seen.gradients[label])[replica].numpy() for label in labels}

    def run(self, steps):
        if len(self._steps) == 1:
            return super().run(steps)
        self._start()
        for _ in range(steps):  # train ops in turn: one call a step
            losses = self._observed[self._step % len(self._steps)]()[0].losses
            self._step += 1
        losses = self.strategy.experimental_local_results(losses[0]) if losses else []
        return [np.mean(loss) for loss in losses]

    def traces(self):
        """How often a step was traced in Python so far."""
        return sum(step.traces for step in self._steps)

    def _observed_step(self):
        """A `tf.function` for each phase."""
        return [tf.function(lambda step=step: self._run_observed(step), autograph=False) for step in self._steps]

    def _run_observed(self, step):
        batch = self._input.take(self._batches)
        return self.strategy.run(step, (batch,)), batch

    def _run_once(self):
        """One step's mean losses, one per replica; nothing if the graph does not tell what its losses are."""
        seen = self.strategy.run(self._steps[0], (self._input.take(self._batches),))
        local = self.strategy.experimental_local_results
        return [tf.reduce_mean(loss) for loss in local(seen.losses[0])] if seen.losses else []

    def _loss_dtype(self):
        losses = self._plan.phases[0].losses
        return self._plan.tensors[losses[0]][0] if losses else "float32"
