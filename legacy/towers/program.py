"""`LegacyProgram`: the tower graph in a session, as a `Program`."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from legacy.options import LegacyOptions
from legacy.towers import graph, inputs
from legacy.towers.graph_program import GraphProgram
from legacy.towers.state_ops import build_state_loader, state_feed, variables_by_kind
from workloads import tracing
from workloads.lifted import checkpoint
from workloads.numerics import staleness
from workloads.program import State, StepRecord, initial_state
from workloads.records.writer import batch_digest, example_ids
from workloads.support.errors import require
from workloads.support.machine.logical_gpus import memory_limits
from workloads.support.machine.threads import share_of_cores
from workloads.support.user import user_code
from workloads.variable_spec import initial_values

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.sources import Source
    from workloads.variable_spec import VariableSpec

v1 = tf.compat.v1


class LegacyProgram(GraphProgram):
    """Runs `job` on towers.

    Args:
      job: the `Job`.
      source: of its batches.
      options: see `LegacyOptions`.
      devices: device of each tower, or of each pipeline stage of layers, e.g. ["CPU:0", "CPU:1"].

    Attributes:
      graph: the `tf.Graph`.
    """

    side = "legacy"

    def __init__(self, job: Job, source: Source, options: LegacyOptions, devices: Sequence[str]) -> None:
        self._job = job
        self._options = options
        self._devices = ["/device:" + device for device in devices]
        layer_devices = self._devices if options.placement == "layers" else ()
        tower_devices = self._devices[:1] * job.replicas if layer_devices else self._devices
        at_once = 1 if layer_devices else job.replicas
        self._specs = tracing.trace(job.workload, job.per_replica_batch, job.dtype)
        self.graph = tf.Graph()
        with self.graph.as_default():
            self._input = inputs.TOWER_INPUTS[options.input](job, source, tower_devices)
            self._towers = graph.build_tower_graph(job, options, self._input.batches, tower_devices, layer_devices)
            self._holders, self._load = build_state_loader(self._towers)
            initialize = v1.global_variables_initializer()
        self._session = v1.Session(graph=self.graph, config=session_config(devices, options.exact, at_once))
        self._session.run(initialize)
        self._user_ops = user_code.running(
            f"{job.workload.name}.loss", job.workload.loss, self.graph, cause=lambda: self._input.failure
        )
        self._step = 0
        self._started = False
        self.load(initial_state(job, self._specs, initial_values(self._specs, job.seed)))

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._specs

    def describe(self) -> dict[str, str]:
        return {
            "program": "tf.compat.v1 towers in a session",
            "devices": ", ".join(device.replace("/device:", "") for device in self._devices),
            "input": self._options.input,
            "variables on": self._options.variables if self._options.placement == "towers" else "their layer's device",
            "reduction": f"{self._options.average} in the towers' order",
            "update rules": "tf.compat.v1.train",
            "autodiff": "tf.gradients",
            "towers pinned to CPU": self._pinned(),
            "Grappler": "off" if self._options.exact else "on",
        }

    def _pinned(self) -> str:
        options = self._options
        return "forward" if options.pin_towers_to_cpu and not options.pin_backward else str(options.pin_towers_to_cpu)

    def load(self, state: State) -> None:
        count = state.step * (self._job.replicas if self._options.updates == "async" else 1)
        self._session.run(self._load, state_feed(self._holders, state, count))
        if self._step != state.step:
            self._step = state.step
            self._started = False

    def state(self) -> State:
        step, values = self._session.run([self._towers.global_step, variables_by_kind(self._towers)])
        # Towers that do not wait for each other count every update.
        step = int(step) if self._options.updates == "sync" else self._step
        return State(step, **values)

    def step(self) -> StepRecord:
        has_order = self._options.updates == "sync" or self._job.replicas == 1
        require(has_order, "--updates", "async", "several towers have no order that could be compared; see --staleness")
        self._start()
        with self._user_ops:
            feed = self._with_replaced(self._input.feed(self._step))
            _, seen = self._session.run([self._train_op(self._step), self._observed()], feed)
        record = StepRecord(
            step=self._step,
            digests=[batch_digest(batch) for batch in seen["batches"]],
            losses=[np.asarray(loss) for loss in seen["losses"]],
            gradients=seen["gradients"],
            combined=seen["combined"],
            learning_rate=np.asarray(seen["rate"]),
            state=self.state(),
            examples=[example_ids(batch) for batch in seen["batches"]],
            masks=seen["masks"],
            proposals=seen["proposals"],
            taps=seen["taps"],
            tap_gradients=seen["tap_gradients"],
        )
        self._step += 1
        return record

    def _observed(self) -> dict[str, Any]:
        """Returns the tensors of a step record, by its parts."""
        towers = self._towers
        return {
            "losses": towers.losses,
            "gradients": towers.gradients,
            "combined": towers.combined,
            "rate": towers.learning_rate,
            "batches": self._input.batches,
            "proposals": towers.proposals,
            "masks": towers.masks,
            "taps": list(towers.taps),
            "tap_gradients": list(towers.tap_gradients),
        }

    def tower_tensors(self) -> list[str]:
        towers = self._towers
        found = list(towers.losses)
        for values in (*towers.gradients, *towers.proposals):
            found.extend(values.values())
        return [tensor.name for tensor in found]

    def rate_tensors(self) -> list[str]:
        return [self._towers.learning_rate.name]

    def train_nodes(self) -> list[str]:
        return [operation.name for operation in self._towers.train_ops.values()]

    def run(self, steps: int) -> list[np.ndarray]:
        self._start()
        with self._user_ops:
            return self._run_in_threads(steps) if self._options.updates == "async" else self._run_in_turn(steps)

    def _run_in_turn(self, steps: int) -> list[np.ndarray]:
        """Runs steps one after the other; returns the last one's losses."""
        run, feed = self._session.run, self._input.feed
        for step in range(self._step, self._step + steps - 1):
            run(self._train_op(step), feed(step))
        self._step += steps
        return run([self._towers.losses, self._train_op(self._step - 1)], feed(self._step - 1))[0]

    def _run_in_threads(self, steps: int) -> list[np.ndarray]:
        """Runs each tower in a thread of its own, with its own part of each batch, waiting for no other."""

        def run_tower(tower: int) -> np.ndarray:
            for step in range(self._step, self._step + steps):
                fetches = [self._towers.losses[tower], self._towers.train_ops[tower]]
                loss = self._session.run(fetches, self._input.feed(step))[0]
            return loss

        with concurrent.futures.ThreadPoolExecutor(self._job.replicas) as pool:
            losses = list(pool.map(run_tower, range(self._job.replicas)))
        self._step += steps
        return losses

    def _train_op(self, step: int) -> tf.Operation:
        """The op that `step` runs: always the same, but for the first steps of asynchronous updates."""
        job = self._job
        if job.staleness is None:
            return self._towers.train_ops[0]
        return self._towers.train_ops[staleness.updates_without_gradient(job.staleness, job.replicas, step)]

    def run_traced(self, options: tf.compat.v1.RunOptions, metadata: tf.compat.v1.RunMetadata) -> None:
        self._start()
        self._session.run(self._train_op(self._step), self._input.feed(self._step), options, metadata)
        self._step += 1

    def export(self, folder: str) -> None:
        """Writes the files that an old program would have left: graph.meta, and model.ckpt with every variable."""
        os.makedirs(folder, exist_ok=True)
        with self.graph.as_default():
            v1.train.export_meta_graph(os.path.join(folder, "graph.meta"))
            variables = {variable.op.name: variable for variable in v1.global_variables()}
        checkpoint.write_by_name(os.path.join(folder, "model.ckpt"), self._session.run(variables))

    def close(self) -> None:
        self._input.stop()
        self._session.close()

    def _start(self) -> None:
        """Starts the input at the first step taken, not before: a `load` may still choose another one."""
        if not self._started:
            self._started = True
            self._input.start(self._session, self._step)


def session_config(devices: Sequence[str], exact: bool, at_once: int = 1) -> tf.compat.v1.ConfigProto:
    """Makes a `ConfigProto` with as many CPU devices as the towers need.

    Args:
      devices: of the towers, e.g. ["CPU:0", "CPU:1"].
      exact: for identical bits: Grappler is off, and threads are as TensorFlow has them.
      at_once: number of towers that run at the same time, and share the cores.

    Returns:
      the settings.
    """
    cpus = [1 + int(device.partition(":")[2]) for device in devices if device.startswith("CPU")]
    config = v1.ConfigProto(device_count={"CPU": max(cpus, default=1)}, allow_soft_placement=True)
    if not exact and len(cpus) == len(devices):
        config.intra_op_parallelism_threads = share_of_cores(at_once)
    config.gpu_options.allow_growth = True
    limits = memory_limits()
    for limits_of_gpu in limits if any(limits) else ():  # a session divides GPUs as its process does
        config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=limits_of_gpu)
    config.graph_options.rewrite_options.disable_meta_optimizer = exact
    return config
