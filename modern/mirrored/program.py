"""`ModernProgram`: the workload under a `tf.distribute` strategy, as a `Program`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from modern.collectives import all_reduce, exchange
from modern.collectives.strategy import MultiWorkerStrategy, mirrored_strategy
from modern.collectives.worker import Worker
from modern.mirrored.input.replica_input import ReplicaInput
from modern.mirrored.state import tf1_rules
from modern.mirrored.state.variables import MirroredState
from modern.mirrored.step.replica_step import ReplicaStep
from modern.mirrored.step.stale_step import StaleStep
from modern.mirrored.step.step_tensors import StepTensors, replica_arrays, step_record
from modern.mirrored.traced_program import TracedProgram
from modern.options import ModernOptions
from workloads import schedules, tracing
from workloads.job import Job
from workloads.program import Arrays, State, StepRecord, initial_state
from workloads.sources import Source
from workloads.variable_spec import VariableSpec, initial_values

if TYPE_CHECKING:
    from modern.mirrored.state.update_rules import UpdateRules


class ModernProgram(TracedProgram):
    """Runs `job` under `MirroredStrategy`, or one worker's share of it under `MultiWorkerMirroredStrategy`.

    Its step records hold what this process's own replicas compute.

    Args:
      job: the `Job`.
      source: of its batches.
      options: see `ModernOptions`.
      devices: device of each replica in this process, e.g. ["CPU:0", "CPU:1"].
      worker: the `Worker` that this process is, or None where there are no others.
    """

    #: What a replica runs in synchronous training; a subclass with an injected fault has another one.
    step_class: type[ReplicaStep] = ReplicaStep

    def __init__(
        self, job: Job, source: Source, options: ModernOptions, devices: Sequence[str], worker: Worker | None = None
    ) -> None:
        options.configure_grappler()
        self._job = job
        self._options = options
        self._devices = devices
        self._alone = worker is None
        self._specs = tracing.trace(job.workload, job.per_replica_batch, job.dtype)
        self.strategy = (
            mirrored_strategy(devices, options) if worker is None else MultiWorkerStrategy(worker, devices, options)
        )
        first = 0 if worker is None else worker.index * len(devices)
        self._here = range(first, first + len(devices))
        state = initial_state(job, self._specs, initial_values(self._specs, job.seed))
        shared_on = devices[0] if self._shares_variables() else None
        self._variables = MirroredState(self.strategy, state, shared_on=shared_on)
        self._rules = self._make_rules(state)
        step_class = self.step_class if job.staleness is None else StaleStep
        self._replica_step = step_class(job, options, self._variables, self._rules, first)
        self._input = ReplicaInput(job, source, self.strategy, self._here)
        self._step = 0
        self._gather: Any = None

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._specs

    def describe(self) -> dict[str, str]:
        options = self._options
        return {
            "program": "tf.distribute." + ("MirroredStrategy" if self._alone else "MultiWorkerMirroredStrategy"),
            "devices": ", ".join(self._devices),
            "input": "resident" if self._input.resident else "dataset",
            "variables on": "the first replica's device" if self._shares_variables() else "every replica",
            "reduction": all_reduce.describe_all_reduce(self.strategy),
            "update rules": self._rules.describe(),
            "autodiff": options.describe_autodiff(),
            "steps per call": str(options.steps_per_call),
            "XLA": "on" if options.xla else "off",
            "Grappler": options.describe_grappler(),
        }

    def load(self, state: State) -> None:
        super().load(state)
        self._rules.load(state, self._rate_of(state.step - 1))

    def state(self) -> State:
        return self._read()[0]

    def step(self) -> StepRecord:
        self._start_observed()
        with self._user_ops():
            values, batch = self._observed(self._batches)
        state, drift = self._read()
        record = step_record(self._step, self._on_host(values), self._on_each(batch), state, drift)
        self._step += 1
        return record

    def run(self, steps: int) -> list[np.ndarray]:
        losses = super().run(steps)
        return losses if self._alone else list(self._gather_from_workers(losses).flatten())

    def agree(self, number: int) -> int:
        return number if self._alone else int(self._gather_from_workers([number]).max())

    def traces(self) -> int:
        """Returns how often the step was traced in Python so far."""
        return self._replica_step.traces

    def runs_eagerly(self) -> bool:
        """Whether the step last ran op by op, without a graph."""
        return self._replica_step.eager

    def _shares_variables(self) -> bool:
        """Whether all replicas share one copy of the variables; see `ModernOptions.variables`."""
        options = self._options
        if options.variables != "auto":
            return options.variables == "first"
        one_process = self._alone and len(self._devices) > 1 and options.update_rules == "tf1"
        return one_process and all(device.startswith("CPU") for device in self._devices)

    def _gather_from_workers(self, numbers: Sequence[Any]) -> np.ndarray:
        """[workers, len(numbers)] float64: every worker's numbers; all workers must call this at the same step."""
        if self._gather is None:

            def gather(value: tf.Tensor) -> list[tf.Tensor]:
                return exchange.gather(tf.distribute.get_replica_context(), [value])[0]

            self._gather = tf.function(lambda value: self.strategy.run(gather, (value,)), autograph=False)
        answers = self._gather(tf.constant(numbers, tf.float64))
        local = self.strategy.experimental_local_results
        return np.array([local(answer)[0] for answer in answers[:: len(self._here)]])

    def _observed_step(self) -> Any:
        return tf.function(self._run_observed, autograph=False)

    def _run_observed(self, batches: Any) -> tuple[StepTensors, Any]:
        batch = self._input.take(batches)
        return self.strategy.run(self._replica_step, (batch,)), batch

    def _run_once(self) -> list[Any]:
        return self._run_on(self._input.take(self._batches))

    def _run_on(self, batch: Any) -> list[Any]:
        return list(self.strategy.experimental_local_results(self.strategy.run(self._replica_step, (batch,)).loss))

    def _loss_count(self) -> int:
        return len(self._here)

    def _on_host(self, values: StepTensors) -> StepTensors:
        """A step's per-replica values as arrays; of what is the same on all replicas, the first one's."""
        local = self.strategy.experimental_local_results
        return StepTensors(
            loss=local(values.loss),
            gradients=self._on_each(values.gradients),
            combined={name: local(value)[0].numpy() for name, value in values.combined.items()},
            learning_rate=local(values.learning_rate)[0].numpy(),
            proposals=self._on_each(values.proposals),
            masks=self._on_each(values.masks),
            taps=self._on_each(values.taps) if values.taps else (),
            tap_gradients=self._on_each(values.tap_gradients) if values.tap_gradients else (),
        )

    def _on_each(self, values: dict[str, Any]) -> list[Arrays]:
        """Each replica's {name: array} of {name: per-replica value}."""
        return replica_arrays(self.strategy, values, len(self._here))

    def _read(self) -> tuple[State, list[str]]:
        """The state, with slots in 1.x's terms, and the names of variables whose copies disagree."""
        state, drift = self._variables.read()
        state.slots = self._rules.slots(state, self._rate_of(state.step - 1))
        return state, drift

    def _make_rules(self, state: State) -> UpdateRules:
        if self._options.update_rules == "tf1":
            return tf1_rules.Tf1Rules(self._job.workload.optimizer)
        from modern.mirrored.state.keras_rules import KerasRules  # only when asked for: Keras takes a second to import

        rules = KerasRules(self._job.workload, self._variables, self._job.replicas)
        rules.load(state, self._rate_of(-1))
        return rules

    def _rate_of(self, step: int) -> Callable[[], float]:
        """A function that computes the learning rate of `step`; only Keras, which keeps it inside a slot, calls it."""
        return lambda: schedules.learning_rate_at(
            self._job.workload.learning_rate, max(step, 0), self._job.global_batch
        )
