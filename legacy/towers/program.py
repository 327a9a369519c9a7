"""`LegacyProgram`: the tower graph in a session, as a `Program`."""

from __future__ import annotations

import concurrent.futures
import os

import numpy as np
import tensorflow as tf

from legacy.towers import graph, inputs
from workloads import scope
from workloads.numerics import staleness
from workloads.program import STATES, Program, State, StepRecord, initial_state
from workloads.records.writer import batch_digest, example_ids
from workloads.support.errors import require

v1 = tf.compat.v1


class LegacyProgram(Program):
    """Runs `job` on towers.

    Args:
      job: the `Job`.
      source: `sources.Source` of its batches.
      options: `LegacyOptions`.
      devices: device of each tower, or of each stage of layers, e.g. ["CPU:0", "CPU:1"].
    """

    side = "legacy"

    def __init__(self, job, source, options, devices):
        self._job = job
        self._options = options
        self._devices = ["/device:" + device for device in devices]
        stages = self._devices if options.placement == "layers" else ()
        towers_on = self._devices[:1] * job.replicas if stages else self._devices
        self._specs = scope.trace(job.workload, job.per_replica_batch, job.dtype)
        self.graph = tf.Graph()
        with self.graph.as_default():
            self._input = inputs.KINDS[options.input](job, source, towers_on)
            self._towers = graph.build(job, options, self._input.batches, towers_on, stages)
            self._loaded, self._load = build_loader(self._towers)
            initialize = v1.global_variables_initializer()
        self._session = v1.Session(graph=self.graph, config=session_config(devices, options.exact))
        self._session.run(initialize)
        self._step = 0
        self._started = False
        self.load(initial_state(job, self._specs, scope.initial_values(self._specs, job.seed)))

    def variables(self):
        return self._specs

    def describe(self):
        return {
            "program": "tf.compat.v1 towers in a session",
            "devices": ", ".join(device.replace("/device:", "") for device in self._devices),
            "input": self._options.input,
            "variables on": self._options.variables if self._options.placement == "towers" else "their layer's device",
            "reduction": f"{self._options.average} in the towers' order",
            "update rules": "tf.compat.v1.train",
            "autodiff": "tf.gradients",
            "towers pinned to CPU": str(self._options.pin_towers_to_cpu),
            "Grappler": "off" if self._options.exact else "on",
        }

    def load(self, state):
        free = self._options.updates == "async"
        count = state.step * (self._job.replicas if free else 1)
        self._session.run(self._load, feed_of(self._loaded, state, count))
        if self._step != state.step:
            self._step = state.step
            self._started = False

    def state(self):
        step, found = self._session.run([self._towers.global_step, by_kind(self._towers)])
        step = int(step) if self._options.updates == "sync" else self._step  # free towers count every update
        return State(step, **found)

    def step(self):
        one = self._options.updates == "sync" or self._job.replicas == 1
        require(one, "--updates", "async", "several towers have no order that could be compared; see --staleness")
        self._start()
        ends = self._towers
        observed = {
            "losses": ends.losses,
            "gradients": ends.gradients,
            "combined": ends.combined,
            "rate": ends.learning_rate,
            "batches": self._input.batches,
            "proposals": ends.proposals,
            "masks": ends.masks,
        }
        _, seen = self._session.run([self._train_op(self._step), observed], self._input.feed(self._step))
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
        )
        self._step += 1
        return record

    def run(self, steps):
        self._start()
        if self._options.updates == "async":
            return self._run_freely(steps)
        run, feed = self._session.run, self._input.feed
        for step in range(self._step, self._step + steps - 1):
            run(self._train_op(step), feed(step))
        self._step += steps
        return run([self._towers.losses, self._train_op(self._step - 1)], feed(self._step - 1))[0]

    def _run_freely(self, steps):
        """Each tower in a thread of its own, with its own part of each batch, waiting for no other."""

        def run(tower):
            for step in range(self._step, self._step + steps):
                fetches = [self._towers.losses[tower], self._towers.train_ops[tower]]
                loss = self._session.run(fetches, self._input.feed(step))[0]
            return loss

        with concurrent.futures.ThreadPoolExecutor(self._job.replicas) as pool:
            losses = list(pool.map(run, range(self._job.replicas)))
        self._step += steps
        return losses

    def _train_op(self, step):
        """What `step` runs: the same op always, but for the first asynchronous steps."""
        return self._towers.train_ops[0 if self._job.staleness is None else staleness.empty(self._job, step)]

    def run_traced(self, options, metadata):
        """Takes a step under `RunOptions` that fill `RunMetadata`."""
        self._start()
        self._session.run(self._train_op(self._step), self._input.feed(self._step), options, metadata)
        self._step += 1

    def export(self, folder):
        """Writes what an old program would have left: graph.meta, and model.ckpt with every variable's value."""
        from workloads.lifted import checkpoint

        os.makedirs(folder, exist_ok=True)
        with self.graph.as_default():
            v1.train.export_meta_graph(os.path.join(folder, "graph.meta"))
            variables = {variable.op.name: variable for variable in v1.global_variables()}
        checkpoint.write_by_name(os.path.join(folder, "model.ckpt"), self._session.run(variables))

    def close(self):
        self._input.stop()
        self._session.close()

    def _start(self):
        """Input begins at the first step taken, not before: a `load` may still choose another one."""
        if not self._started:
            self._started = True
            self._input.start(self._session, self._step)


def by_kind(ends):
    """{kind of `STATES`: {name: variable}} of a `TowerGraph`."""
    return {
        "weights": {name: v for name, v in ends.variables.items() if v.trainable},
        "slots": ends.slots,
        "statistics": {name: v for name, v in ends.variables.items() if not v.trainable},
        "averages": ends.averages,
    }


def feed_of(holders, state, step):
    """What `build_loader`'s op is fed, for it to assign a `State`; `step` is what the graph is to count from."""
    feed = {holders["step"]: step}
    for kind in STATES:
        feed.update((holders[kind, name], value) for name, value in getattr(state, kind).items())
    return feed


def build_loader(ends):
    """Placeholders for a whole `State`, and the op that assigns them.

    Returns:
      ({"step" or (kind, variable name): placeholder}, op).
    """
    places = {(kind, name): v for kind, variables in by_kind(ends).items() for name, v in variables.items()}
    places["step"] = ends.global_step
    holders, assigns = {}, []
    for key, variable in places.items():
        holders[key] = v1.placeholder(variable.dtype.base_dtype, variable.shape)
        assigns.append(v1.assign(variable, holders[key]).op)
    return holders, tf.group(*assigns)


def session_config(devices, exact):
    """`ConfigProto` with as many CPU devices as the towers need; Grappler off if `exact`."""
    cpus = sum(device.startswith("CPU") for device in devices)
    config = v1.ConfigProto(device_count={"CPU": max(1, cpus)}, allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    config.graph_options.rewrite_options.disable_meta_optimizer = exact
    return config
