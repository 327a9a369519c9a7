"""`Program`, whatever can run a job step by step, and `StepRecord`, what one observed step shows."""

from __future__ import annotations

import dataclasses
from typing import Dict, List

import numpy as np

from workloads.numerics import staleness

Arrays = Dict[str, np.ndarray]

#: The parts of a `State` that are {name: array}.
STATES = ("weights", "slots", "statistics", "averages")


@dataclasses.dataclass
class State:
    """Everything that a step changes. Names are the model's; slots are "variable/slot", or an accumulator's name."""

    step: int
    weights: Arrays
    slots: Arrays
    statistics: Arrays
    averages: Arrays

    def cast(self, dtype):
        """The same values with the weights' and slots' floats as `dtype`; accumulators stay float32."""

        def convert(arrays):
            return {name: np.asarray(value, dtype) for name, value in arrays.items()}

        slots = {name: np.asarray(value, dtype) if "/" in name else value for name, value in self.slots.items()}
        return State(self.step, convert(self.weights), slots, convert(self.statistics), convert(self.averages))


@dataclasses.dataclass
class StepRecord:
    """One step, seen from outside. Lists are over replicas, in order.

    Attributes:
      step: number of the step, from 0.
      digests: of each replica's batch, as the replica itself saw it.
      losses: each replica's scalar loss, penalties included.
      gradients: each replica's {weight: gradient}, before any clipping.
      combined: {weight: gradient} that the optimizer got.
      learning_rate: float32 scalar that the optimizer got.
      state: `State` after the step.
      drift: names of mirrored variables whose copies disagree between replicas; empty where there is one copy.

    What is not compared but helps to name a cause; empty where a source of records does not know it:
      examples: each replica's `writer.example_ids`.
      masks: each replica's {dropout name: boolean array, true where kept}.
      proposals: each replica's {statistic: the value it proposes}, of which the workload takes one or the mean.
    """

    step: int
    digests: List[str]
    losses: List[np.ndarray]
    gradients: List[Arrays]
    combined: Arrays
    learning_rate: np.ndarray
    state: State
    drift: List[str] = dataclasses.field(default_factory=list)
    examples: List[np.ndarray] = dataclasses.field(default_factory=list)
    masks: List[Arrays] = dataclasses.field(default_factory=list)
    proposals: List[Arrays] = dataclasses.field(default_factory=list)


class Program:
    """A job, ready to run. Steps are taken in order; each reads its batch from the program's own source."""

    #: "legacy", "modern", ...: the column that reports put it in.
    side = "program"

    def variables(self):
        """Tuple of `VariableSpec`: name, shape, dtype and whether trainable."""
        raise NotImplementedError

    def describe(self):
        """{setting: text} of what this side adds to the job: devices, input path, reduction, update rules."""
        raise NotImplementedError

    def load(self, state):
        """Makes `state` the current one; the next step uses its `step` for schedule and noise."""
        raise NotImplementedError

    def state(self):
        """The current `State`, copied to the host."""
        raise NotImplementedError

    def step(self):
        """Runs the next step and returns its `StepRecord`."""
        raise NotImplementedError

    def run(self, steps):
        """Runs `steps` steps, observing nothing, and returns the last step's losses, one per replica."""
        raise NotImplementedError

    def agree(self, number):
        """The largest `number` that any process of this program says, all of which call this at the same step."""
        return number

    def close(self):
        """Frees threads and sessions. A closed program is not used again."""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class Shown(Program):
    """Another program whose records are shown otherwise: subclasses say how in `shown`."""

    def __init__(self, program):
        self._program = program
        self.side = program.side

    def shown(self, record):
        """The record to show for `record`, which may be altered in place."""
        raise NotImplementedError

    def variables(self):
        return self._program.variables()

    def describe(self):
        return self._program.describe()

    def load(self, state):
        self._program.load(state)

    def state(self):
        return self._program.state()

    def step(self):
        return self.shown(self._program.step())

    def close(self):
        self._program.close()


def initial_state(job, specs, values):
    """The `State` before the first step of `job`.

    Args:
      specs: the model's `VariableSpec`s.
      values: {variable name: array}, see `scope.initial_values`.
    """
    workload = job.workload
    weights = {s.name: np.asarray(values[s.name], s.dtype) for s in specs if s.trainable}
    statistics = {s.name: np.asarray(values[s.name], s.dtype) for s in specs if not s.trainable}
    slots = {
        f"{name}/{slot}": np.full_like(weight, start)
        for name, weight in weights.items()
        for slot, start in workload.optimizer.slots().items()
    }
    slots.update((n, np.asarray(v, np.float32)) for n, v in workload.optimizer.accumulators().items())
    for name, weight in weights.items():
        slots.update(staleness.slots(job, name, weight))
    averages = {name: weight.copy() for name, weight in weights.items()} if workload.moving_average else {}
    return State(0, weights, slots, statistics, averages)
