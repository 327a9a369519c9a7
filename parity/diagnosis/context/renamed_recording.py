"""A port's recording under legacy's names."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping

import numpy as np

from workloads.program import Arrays, State, StepRecord
from workloads.records import name_match
from workloads.records.reader import Recording
from workloads.records.variable_match import ModelVariables
from workloads.support.files import json_file
from workloads.support.wording import counted
from workloads.variable_spec import VariableSpec


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
            losses=_rounded(record),
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


def _rounded(record: StepRecord) -> list[np.ndarray]:
    """Returns the losses in the weights' dtype: a loop may show them as Python's numbers."""
    dtypes = {weight.dtype for weight in record.state.weights.values()}
    return [loss.astype(dtypes.copy().pop()) if len(dtypes) == 1 else loss for loss in record.losses]


def open_renamed(path: str, argument: str, file: str, legacy: ModelVariables) -> RenamedRecording:
    """Opens a recording under the names that a file gives its variables; writes the file if it does not exist.

    What was matched how, and what is without a counterpart, is printed when the file is written.

    Args:
      path: the recording (.npz).
      argument: the flag that named it, for messages.
      file: of the names.
      legacy: legacy's weights and statistics.

    Returns:
      the recording, at its first step.

    Raises:
      InputError: the recording or the file cannot be used.
    """
    with Recording(path, argument) as recording:
        port = model_variables(recording)
    if not os.path.exists(file):
        found = name_match.match_names(legacy, port)
        json_file.write_json(file, found.to_json(), "--names")
        left_out = [f"without a counterpart: {name}" for name in found.unmatched]
        print("\n".join([f"{file}: {counted(len(found.names), 'name')}", *found.ambiguous(), *left_out]))
    return RenamedRecording(path, argument, name_match.read_names(file, list(legacy.values), list(port.values)))


def model_variables(recording: Recording) -> ModelVariables:
    """Returns weights and statistics before the first step, in the order in which the program made them."""
    state = recording.state()
    values = {**state.weights, **state.statistics}
    ordered = {spec.name: values[spec.name] for spec in recording.variables() if spec.name in values}
    return ModelVariables(ordered, frozenset(state.statistics))
