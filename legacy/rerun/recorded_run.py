"""`RecordedRun`: a recorded original run as a `Program`."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

import numpy as np
import tensorflow as tf

from legacy.rerun.observed import changed_tensors, gradient_tensors, learning_rate_tensors
from legacy.rerun.recorded_source import RecordedSource
from legacy.saved.runs.carried_state import carrying_node
from workloads.lifted.graph import parse_tensor_name, tensor_name
from workloads.lifted.workload import as_lifted
from workloads.program import Program, State, StepRecord
from workloads.records.writer import batch_digest
from workloads.support.errors import InputError
from workloads.support.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from legacy.rerun.recording import RecordedSteps
    from workloads.job import Job
    from workloads.program import Arrays
    from workloads.variable_spec import VariableSpec


class RecordedRun(Program):
    """A recorded run, whose steps are read instead of run.

    Args:
      job: the `Job`, of a `LiftedWorkload`.
      steps: the recording.
    """

    side = "original"

    def __init__(self, job: Job, steps: RecordedSteps) -> None:
        self._workload = as_lifted(job.workload)
        self._plan, self._steps = self._workload.plan, steps
        self._source = RecordedSource(job, steps)
        self._step = 0
        self._lifted = self._workload.values()
        self._changed = changed_tensors(self._plan)
        self._start = self._state_of(steps.start_of(0), "", 0)

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._workload.variables()

    def load(self, state: State) -> None:
        """Does nothing: the start of a recorded run cannot be changed."""

    def describe(self) -> dict[str, str]:
        about, count = self._steps.about, len(self._steps)
        every = count == len(about["steps"])
        steps = "" if every else f"; {count} of {len(about['steps'])} steps ran this lift's train ops in turn"
        return {"program": f"TensorFlow {about['tensorflow']}, Python {about['python']}, recorded{steps}"}

    def state(self) -> State:
        """Returns the state that the next step starts from, which other runs may have changed since the last one."""
        if self._step == 0:
            return self._start
        if self._step == len(self._steps):
            return self._state(self._step - 1)
        return self._state_of(self._steps.start_of(self._step), "", self._step)

    def step(self) -> StepRecord:
        if self._step >= len(self._steps):
            raise InputError(f"--steps: the recording holds {counted(len(self._steps), 'step')}")
        step, self._step = self._step, self._step + 1
        phase = self._plan.phases[step % len(self._plan.phases)]
        combined = {weight: self._observed(step, name) for weight, name in gradient_tensors(phase).items()}
        rates = [self._observed(step, name) for name in learning_rate_tensors(phase)]
        return StepRecord(
            step=step,
            digests=[batch_digest(shard) for shard in self._source.shards(step)],
            losses=_all_or_none([self._tensor(step, name) for name in phase.losses]),
            gradients=[
                _present({weight: self._tensor(step, name) for weight, name in tower.items()})
                for tower in phase.gradients
            ],
            combined=_present(combined),
            learning_rate=np.array([_or_nan(rate) for rate in rates]),
            state=self._state(step),
        )

    def _observed(self, step: int, name: str) -> Optional[np.ndarray]:
        """Returns the recorded value of what an update takes; None if the step changes it before it is fetched."""
        return None if name in self._changed else self._tensor(step, name)

    def _tensor(self, step: int, name: str) -> Optional[np.ndarray]:
        """Returns a tensor's recorded value, or a constant's own; None if it is neither."""
        node_name = parse_tensor_name(name).node
        value = self._steps.tensor(step, self._plan.sources.get(node_name, name))
        node = self._workload.graph.nodes[node_name]
        if value is None and node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
        return value

    def _state(self, step: int) -> State:
        """Returns the state after a step."""
        return self._state_of(self._steps.step(step), "after/", step + 1)

    def _state_of(self, arrays: Mapping[str, np.ndarray], prefix: str, step: int) -> State:
        """Returns the state in recorded arrays; variables that were not recorded have the lift's values."""
        values = {v.name: arrays.get(prefix + v.name) for v in self._plan.variables}
        values.update((name, self._fed(name, prefix, step)) for name, value in values.items() if value is None)
        for variable in self._plan.variables:
            value = np.asarray(values[variable.name])
            if list(value.shape) != list(variable.shape) or value.dtype.kind in "OSU":
                raise InputError(
                    f"--recording: {variable.name!r} is recorded as {value.dtype} {list(value.shape)}, expected "
                    f"{variable.dtype} {list(variable.shape)}"
                )
        return self._workload.state(step, values)

    def _fed(self, variable: str, prefix: str, step: int) -> Optional[np.ndarray]:
        """Returns the value of a variable that the lift makes of a tensor which was fetched and fed back.

        Args:
          variable: its name.
          prefix: "after/" for what a step left, as the program fetched it; else what is fed in the next step.
          step: number of the step that starts from the value.

        Returns:
          The recorded value, or the lift's.
        """
        name = carrying_node(variable)
        carried = [effect.values[0] for phase in self._plan.phases for effect in phase.effects if effect.node == name]
        found = self._tensor(step - 1, carried[0]) if prefix and carried else None
        if found is None and carried and step < len(self._steps):
            found = self._steps.tensor(step, tensor_name(variable, 0))
        return self._lifted.get(variable) if found is None else found


def _present(arrays: Mapping[str, Optional[np.ndarray]]) -> Arrays:
    return {name: value for name, value in arrays.items() if value is not None}


def _all_or_none(values: Sequence[Optional[np.ndarray]]) -> List[np.ndarray]:
    return [] if any(value is None for value in values) else [np.asarray(value) for value in values]


def _or_nan(value: Optional[np.ndarray]) -> np.ndarray:
    return np.float32("nan") if value is None else value
