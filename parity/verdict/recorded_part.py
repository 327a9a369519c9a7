"""The part of a job that another framework's recording holds: only these values are compared with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from parity.comparison import stages
from workloads.program import STATES, Arrays, Program, RecordRewriter, State, StepRecord
from workloads.records.reader import Recording

#: {part of a state: its stage}.
_STAGE_OF = dict(zip(STATES, (stages.WEIGHTS, stages.SLOTS, stages.STATISTICS, stages.AVERAGES)))

#: Type of the entries of a list over replicas.
_Value = TypeVar("_Value")


@dataclasses.dataclass
class RecordedPart:
    """Names of the tensors that a recording holds.

    Attributes:
      first: record of its first step.
      left_out: stages of which some tensor was left out so far, since the recording does not hold it.
    """

    first: StepRecord
    left_out: set[str] = dataclasses.field(default_factory=set)

    @staticmethod
    def of(recording: Recording) -> RecordedPart:
        """Returns the part that a recording holds, read from its first step."""
        return RecordedPart(recording.step())

    def filter_records(self, program: Program) -> Program:
        """Wraps a program so that its records and states hold only the values that the recording holds."""
        return _FilteredProgram(program, self)

    def of_state(self, state: State) -> State:
        """Returns the part of a state."""
        kinds = {
            kind: self._kept(_STAGE_OF[kind], getattr(state, kind), getattr(self.first.state, kind)) for kind in STATES
        }
        return State(state.step, **kinds)

    def of_record(self, record: StepRecord) -> StepRecord:
        """Returns the part of a step's record."""
        first = self.first
        return dataclasses.replace(
            record,
            digests=self._all(stages.BATCH, record.digests, first.digests),
            losses=self._losses(record.losses),
            gradients=[
                self._kept(stages.GRADIENTS, own, held)
                for own, held in zip(
                    self._all(stages.GRADIENTS, record.gradients, first.gradients), first.gradients or []
                )
            ],
            combined=self._kept(stages.COMBINED, record.combined, first.combined),
            learning_rate=self._rate(record.learning_rate),
            state=self.of_state(record.state),
        )

    def _kept(self, stage: str, arrays: Arrays, held: Arrays) -> Arrays:
        if set(arrays) - set(held):
            self.left_out.add(stage)
        return {name: value for name, value in arrays.items() if name in held}

    def _all(self, stage: str, values: list[_Value], held: Sequence[object]) -> list[_Value]:
        """Returns a list over replicas if the recording has one as long."""
        if len(values) != len(held):
            self.left_out.add(stage)
        return values if len(values) == len(held) else []

    def _losses(self, losses: list[np.ndarray]) -> list[np.ndarray]:
        """Returns the losses, or their mean where the recording holds one number."""
        if len(losses) == len(self.first.losses):
            return losses
        return [np.asarray(np.mean(losses), losses[0].dtype)]

    def _rate(self, rate: Any) -> Any:
        """Returns the learning rate; None, as a recording has it, where the recording does not hold it."""
        if self.first.learning_rate is None:
            self.left_out.add(stages.RATE)
            return None
        return rate


class _FilteredProgram(RecordRewriter):
    """A program with records and states that are cut down to the values of a recording.

    Args:
      program: the program.
      part: of the job that the recording holds.
    """

    def __init__(self, program: Program, part: RecordedPart) -> None:
        super().__init__(program)
        self._part = part
        self._whole: dict[int, State] = {}  # by step, as it was when that step was first begun or reached

    def rewrite(self, record: StepRecord) -> StepRecord:
        self._keep(record.state)
        return self._part.of_record(record)

    def state(self) -> State:
        return self._part.of_state(super().state())

    def load(self, state: State) -> None:
        """Loads a state; values that the recording lacks are the program's own of that step, at each loading."""
        if state.step not in self._whole:
            self._keep(dataclasses.replace(self._program.state(), step=state.step))
        own = self._whole[state.step]
        kinds = {kind: {**getattr(own, kind), **getattr(state, kind)} for kind in STATES}
        super().load(State(state.step, **kinds))

    def _keep(self, whole: State) -> None:
        """Keeps a whole state; a repetition of its step, such as one from other weights, does not replace it."""
        self._whole.setdefault(whole.step, whole)
        for step in [step for step in self._whole if step < whole.step - 1]:
            del self._whole[step]
