"""A port's recording under legacy's names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from workloads.program import Arrays, State, StepRecord
from workloads.records.reader import Recording
from workloads.scope import VariableSpec


class RenamedRecording(Recording):
    """A recording whose variables have other names; variables without one keep theirs.

    Args:
      path: the recording (.npz).
      argument: the flag that named it, for messages.
      names: {name in the file: name to show}.
    """

    def __init__(self, path: str, argument: str, names: Mapping[str, str]) -> None:
        super().__init__(path, argument)
        self._names = dict(names)

    def variables(self) -> tuple[VariableSpec, ...]:
        return tuple(spec._replace(name=self._name(spec.name)) for spec in super().variables())

    def state(self) -> State:
        return self._renamed_state(super().state())

    def step(self) -> StepRecord:
        record = super().step()
        return dataclasses.replace(
            record,
            gradients=[self._renamed(arrays) for arrays in record.gradients],
            combined=self._renamed(record.combined),
            state=self._renamed_state(record.state),
            proposals=[self._renamed(arrays) for arrays in record.proposals],
            drift=[self._name(name) for name in record.drift],
        )

    def _renamed_state(self, state: State) -> State:
        slots = {self._slot_name(name): value for name, value in state.slots.items()}
        weights, statistics, averages = map(self._renamed, (state.weights, state.statistics, state.averages))
        return State(state.step, weights, slots, statistics, averages)

    def _renamed(self, arrays: Arrays) -> Arrays:
        return {self._name(name): value for name, value in arrays.items()}

    def _name(self, name: str) -> str:
        return self._names.get(name, name)

    def _slot_name(self, name: str) -> str:
        weight, slash, slot = name.rpartition("/")
        return self._name(weight) + slash + slot
