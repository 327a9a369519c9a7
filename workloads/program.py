"""`Program`, the interface of whatever runs a job step by step, and `StepRecord`, the values of one observed step.

Both sides of a comparison, and recordings, are `Program`s; nothing that compares or diagnoses knows more of them.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import TYPE_CHECKING, Dict, TypeVar

import numpy as np

from workloads.numerics import staleness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workloads.job import Job
    from workloads.variable_spec import VariableSpec

#: {name: array}; the names are a model's, a slot's or an input's.
Arrays = Dict[str, np.ndarray]

#: A class of programs, which entering a `with` block keeps.
ProgramType = TypeVar("ProgramType", bound="Program")

#: The parts of a `State` that are {name: array}.
STATES = ("weights", "slots", "statistics", "averages")


@dataclasses.dataclass
class State:
    """Everything that a step changes.

    Attributes:
      step: number of the next step.
      weights: {variable name: array}.
      slots: {"variable name/slot name": array} and {accumulator name: float32 scalar}.
      statistics: {variable name: array} of the variables that are not trained.
      averages: {weight name: array} of the weights' moving averages.
    """

    step: int
    weights: Arrays
    slots: Arrays
    statistics: Arrays
    averages: Arrays

    def cast(self, dtype: str) -> State:
        """Returns the same values with all floats as `dtype`, but for accumulators, which stay float32."""

        def convert(arrays: Arrays) -> Arrays:
            return {name: _cast_floats(value, dtype) for name, value in arrays.items()}

        slots = {name: _cast_floats(value, dtype) if "/" in name else value for name, value in self.slots.items()}
        return State(self.step, convert(self.weights), slots, convert(self.statistics), convert(self.averages))


@dataclasses.dataclass
class StepRecord:
    """One step as seen from outside. Lists are over replicas, in order.

    The attributes from `examples` on help to name a cause, and are empty where a source of records does not know them.

    Attributes:
      step: number of the step, from 0.
      digests: digest of each replica's batch, as the replica itself saw it.
      losses: each replica's scalar loss, penalties included.
      gradients: each replica's {weight name: gradient}, before any clipping.
      combined: {weight name: gradient that the optimizer got}.
      learning_rate: float32 scalar that the optimizer got.
      state: `State` after the step.
      drift: names of mirrored variables whose copies disagree between replicas; empty where there is one copy.
      examples: each replica's `writer.example_ids`.
      masks: each replica's {dropout name: boolean array, true where kept}.
      proposals: each replica's {statistic: the value it proposes}, of which the workload takes one or the mean.
      taps: each replica's {name: value of a tensor inside the model}, in the order of the forward pass; compared where
        both sides have them.
      tap_gradients: each replica's {name: gradient of its loss to that tensor}.
      tap_readers: {tap, or weight: the taps that are made from it without another one between}; empty where taps are a
        layer's inputs and outputs, which tell it by their values.
    """

    step: int
    digests: list[str]
    losses: list[np.ndarray]
    gradients: list[Arrays]
    combined: Arrays
    learning_rate: np.ndarray
    state: State
    drift: list[str] = dataclasses.field(default_factory=list)
    examples: list[np.ndarray] = dataclasses.field(default_factory=list)
    masks: list[Arrays] = dataclasses.field(default_factory=list)
    proposals: list[Arrays] = dataclasses.field(default_factory=list)
    taps: list[Arrays] = dataclasses.field(default_factory=list)
    tap_gradients: list[Arrays] = dataclasses.field(default_factory=list)
    tap_readers: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def is_finite(self) -> bool:
        """Returns whether losses, combined gradients and weights are free of NaN and infinity."""
        arrays = [*self.losses, *self.combined.values(), *self.state.weights.values()]
        return all(bool(np.isfinite(np.asarray(array)).all()) for array in arrays)


class Program(abc.ABC):
    """A job, ready to run. Steps are taken in order; each reads its batch from the program's own source.

    A program that only reads records back can neither be loaded nor run, and one that is only timed shows no records:
    those leave out `load`, `run` or `step`.
    """

    #: "legacy", "modern", ...: the column that reports put it in.
    side = "program"

    @abc.abstractmethod
    def variables(self) -> Sequence[VariableSpec]:
        """Returns name, shape, dtype and trainability of each variable."""

    @abc.abstractmethod
    def describe(self) -> dict[str, str]:
        """Returns {setting: text} of what this side adds to the job: devices, input path, reduction, update rules."""

    @abc.abstractmethod
    def state(self) -> State:
        """Returns the current `State`, copied to the host."""

    def half_precision(self) -> str:
        """Returns the 16-bit type that parts of a step compute in: "float16", "bfloat16", or "" for none."""
        return ""

    def load(self, state: State) -> None:
        """Makes `state` the current one; the next step uses its `step` for schedule and noise."""
        raise NotImplementedError(f"{type(self).__name__}.load")

    def step(self) -> StepRecord:
        """Runs the next step and returns its `StepRecord`."""
        raise NotImplementedError(f"{type(self).__name__}.step")

    def run(self, steps: int) -> list[np.ndarray]:
        """Runs `steps` steps without observing them; returns the last step's losses, one per replica."""
        raise NotImplementedError(f"{type(self).__name__}.run")

    def agree(self, number: int) -> int:
        """Returns the largest `number` of all processes of this program, which all call this at the same step."""
        return number

    def close(self) -> None:
        """Frees threads and sessions. A closed program is not used again."""
        return None

    def __enter__(self: ProgramType) -> ProgramType:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


class RecordRewriter(Program):
    """Wraps a program and rewrites its step records; subclasses say how in `rewrite`.

    Args:
      program: the `Program` that takes the steps.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.side = program.side

    @abc.abstractmethod
    def rewrite(self, record: StepRecord) -> StepRecord:
        """Returns the record to report for `record`, which may be changed in place."""

    def variables(self) -> Sequence[VariableSpec]:
        return self._program.variables()

    def describe(self) -> dict[str, str]:
        return self._program.describe()

    def half_precision(self) -> str:
        return self._program.half_precision()

    def load(self, state: State) -> None:
        self._program.load(state)

    def state(self) -> State:
        return self._program.state()

    def step(self) -> StepRecord:
        return self.rewrite(self._program.step())

    def close(self) -> None:
        self._program.close()


def _cast_floats(value: np.ndarray, dtype: str) -> np.ndarray:
    """Returns an array as `dtype` if it holds floats, else unchanged: counters of steps, and flags."""
    value = np.asarray(value)
    return value.astype(dtype) if value.dtype.kind in "fV" else value


def initial_state(job: Job, specs: Sequence[VariableSpec], values: Mapping[str, np.ndarray]) -> State:
    """Returns the `State` before the first step.

    Args:
      job: decides the slots, the gradients that wait, and whether weights have averages.
      specs: the model's `VariableSpec`s.
      values: {variable name: array}, see `variable_spec.initial_values`.

    Returns:
      the state at step 0, in the specs' dtypes.
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
        slots.update(staleness.initial_slots(job.staleness, name, weight))
    averages = {name: weight.copy() for name, weight in weights.items()} if workload.moving_average else {}
    return State(0, weights, slots, statistics, averages)
