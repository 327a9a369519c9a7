"""What `recorder.py` wrote in an old environment, as a `Program`, and its batches and random numbers as a `Source`."""

from __future__ import annotations

import io
import json
import os
import zipfile

import numpy as np
import tensorflow as tf

from legacy.rerun.runnable import rates
from workloads.lifted import checkpoint
from workloads.lifted.graph import split, tensor_name
from workloads.program import Program, StepRecord
from workloads.records.writer import batch_digest
from workloads.sources import Source
from workloads.support.errors import InputError, require

v1 = tf.compat.v1
FORMAT = 1
#: As many steps from the start are looked at for an input that one train op uses and another does not.
MOST_TRAIN_OPS = 8


class RecordedSteps:
    """The raw content of a recording.

    Args:
      folder: what `recorder.start` was given.

    Raises:
      InputError: it is not a recording, is damaged, or of another program.
    """

    def __init__(self, folder, plan):
        try:
            with open(os.path.join(folder, "recording.json"), encoding="utf-8") as file:
                self.about = json.load(file)
            self._zip = zipfile.ZipFile(os.path.join(folder, "steps.zip"))
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"--recording: {folder!r} is not a recording, or is damaged: {error}")
        require(self.about.get("format") == FORMAT, "--recording", folder, f"expected format {FORMAT}")
        self._folder = folder
        self._kept = (-1, None)
        for step, targets in enumerate(self.about["steps"]):
            wanted = plan.phases[step % len(plan.phases)].train_op
            require(
                wanted in targets or _covers(targets, wanted),
                "--recording",
                folder,
                "step {} ran {}, this lift's train op is {}".format(step, ", ".join(targets), wanted),
            )

    def __len__(self):
        return len(self.about["steps"])

    def step(self, number):
        """{"tensors/..." or "after/...": array} of one step; pipelines ask from threads of their own."""
        kept = self._kept
        if kept[0] != number:
            try:
                content = self._zip.read(f"{number:05d}.npz")
                with np.load(io.BytesIO(content)) as arrays:
                    kept = (number, {name: arrays[name] for name in arrays.files})
            except (KeyError, ValueError, zipfile.BadZipFile) as error:
                raise InputError(f"--recording: step {number} of {self._folder!r} is damaged: {error}")
        self._kept = kept
        return kept[1]

    def initial(self):
        """{variable: array} before the first step."""
        return checkpoint.read(os.path.join(self._folder, "model.ckpt"))

    def tensor(self, step, name):
        """A recorded tensor, or None."""
        return self.step(step).get("tensors/" + name)

    def input(self, step, name):
        """A recorded tensor; where a train op did not use it, another step's, so that batches are alike; or None."""
        for number in [step] + list(range(min(len(self), MOST_TRAIN_OPS))):
            value = self.tensor(number, name)
            if value is not None:
                return value
        return None


def _covers(targets, wanted):
    """Whether what was run includes the train op by way of something that needs it (a loss with a control edge)."""
    return any(wanted in target or target in wanted for target in targets)


class RecordedSource(Source):
    """The batches that the towers of a recorded run saw, and the random numbers that they drew.

    Past the recorded steps it repeats the last one: pipelines read ahead.
    """

    #: Random numbers are given, and not drawn by key.
    noise = "drawn"

    def __init__(self, job, steps):
        super().__init__(job)
        self._plan, self._steps = job.workload.plan, steps
        self._upstream = _Upstream(job.workload, steps)

    def shards(self, step):
        step = min(step, len(self._steps) - 1)
        tensors = self._upstream.values(step)
        shards = [{} for _ in range(self._job.replicas)]
        for tower, shard in enumerate(shards):
            for entry in self._plan.inputs + self._plan.common:
                tensor = entry.tensors[tower] if len(entry.tensors) > 1 else entry.tensors[0]
                shard[entry.name] = np.asarray(tensors[tensor], entry.dtype)
            for entry in self._plan.noise + self._plan.common_noise:
                node = entry.nodes[tower] if len(entry.nodes) > 1 else entry.nodes[0]
                value = self._steps.input(step, tensor_name(node, 0)) if node else None
                output = 0
                while value is not None:
                    shard[f"noise/{entry.name}/{output}"] = value
                    output += 1
                    value = self._steps.input(step, tensor_name(node, output))
        return shards


class _Upstream:
    """Computes what entered the towers from what was recorded at the data sources."""

    def __init__(self, workload, steps):
        plan = workload.plan
        self._steps = steps
        self._plan = plan
        wanted = sorted({tensor for entry in plan.inputs + plan.common for tensor in entry.tensors})
        self._names = {tensor_name(name, 0): origin for name, origin in plan.sources.items()}
        self._direct = [tensor for tensor in wanted if tensor in self._names]
        self._made = [tensor for tensor in wanted if tensor not in self._names]
        self._graph = tf.Graph()
        if self._made:
            random = {n: "drawn" for n in workload.graph.nodes if "Random" in workload.graph.type(n)}
            cutter = workload.cutter(random)
            cutter = cutter.with_signature(lambda tensor: _signature(workload.graph, plan, tensor))
            self._piece = cutter.piece(self._made, list(self._names))
            with self._graph.as_default():
                self._fetches = tf.import_graph_def(self._piece.graph_def, return_elements=self._piece.fetches, name="")

    def values(self, step):
        """{tensor: value} of all that enters."""
        values = {tensor: self._recorded(step, self._names[tensor]) for tensor in self._direct}
        if self._made:
            feed = {}
            for f in self._piece.feeds:
                name = self._names.get(f.key, f.key)
                feed[self._graph.get_tensor_by_name(f.placeholder + ":0")] = self._recorded(step, name)
            with v1.Session(graph=self._graph) as session:
                values.update(zip(self._made, session.run(self._fetches, feed)))
        return values

    def _recorded(self, step, name):
        value = self._steps.input(step, name)
        if value is None:
            raise InputError(f"--recording: step {step} does not hold {name!r}, which this lift's data come from")
        return value


def _signature(graph, plan, tensor):
    if tensor in plan.tensors:
        return plan.tensors[tensor]
    node = graph.nodes[split(tensor)[0]]
    dtype = node.attr["dtype"].type or node.attr["Tout"].type
    return [tf.as_dtype(dtype).name, None]


class RecordedRun(Program):
    """A recorded run as a `Program`: its steps are read back."""

    side = "original"

    def __init__(self, job, steps):
        self._workload, self._plan, self._steps = job.workload, job.workload.plan, steps
        self._source = RecordedSource(job, steps)
        self._step = 0
        self._lifted = self._workload.values()
        self._start = self._take(steps.initial(), "", 0)

    def variables(self):
        return self._workload.variables()

    def load(self, state):
        """A recorded run starts where it started."""

    def describe(self):
        about = self._steps.about
        return {"program": "TensorFlow {}, Python {}, recorded".format(about["tensorflow"], about["python"])}

    def state(self):
        if self._step == 0:
            return self._start
        return self._state(self._step - 1)

    def step(self):
        if self._step >= len(self._steps):
            raise InputError(f"--steps: the recording holds {len(self._steps)} steps")
        step, self._step = self._step, self._step + 1
        phase = self._plan.phases[step % len(self._plan.phases)]
        tensor = lambda name: self._tensor(step, name)  # noqa: E731
        combined = {effect.writes[0]: tensor(effect.gradient) for effect in phase.effects if effect.gradient}
        return StepRecord(
            step=step,
            digests=[batch_digest(shard) for shard in self._source.shards(step)],
            losses=_all_or_none([tensor(name) for name in phase.losses]),
            gradients=[_present({w: tensor(name) for w, name in tower.items()}) for tower in phase.gradients],
            combined=_present(combined),
            learning_rate=np.array([_or_nan(tensor(name)) for name in rates(phase)]),
            state=self._state(step),
        )

    def _tensor(self, step, name):
        value = self._steps.tensor(step, self._plan.sources.get(split(name)[0], name))
        node = self._workload.graph.nodes[split(name)[0]]
        if value is None and node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
        return value

    def _state(self, step):
        return self._take(self._steps.step(step), "after/", step + 1)

    def _take(self, arrays, prefix, step):
        """The `State` in recorded arrays; what was not recorded is as the lift has it."""
        names = [variable.name for variable in self._plan.variables]
        return self._workload.state(step, {n: arrays.get(prefix + n, self._lifted.get(n)) for n in names})


def _present(arrays):
    return {name: value for name, value in arrays.items() if value is not None}


def _all_or_none(values):
    return [] if any(value is None for value in values) else [np.asarray(value) for value in values]


def _or_nan(value):
    return np.float32("nan") if value is None else value
