"""`ReferenceProgram`: an old graph in a session, with its records and states in the names of a workload."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from legacy.rerun.program import OldGraphProgram
from legacy.rerun.replicated import ReplicatedOldGraph
from parity.against.variable_names import VariableNames
from parity.comparison.sparse_gradients import dense_gradients
from workloads.lifted.plan import Effect, Phase, indices_label
from workloads.lifted.workload import LiftedWorkload
from workloads.program import Arrays, Program, State, StepRecord
from workloads.records.writer import batch_digest
from workloads.sources import Source
from workloads.support.errors import InputError
from workloads.variable_spec import VariableSpec

#: Beginnings of the op types of update rules for the rows of a sparse gradient.
_SPARSE = ("SparseApply", "ResourceSparseApply")


class _RowsObserved(OldGraphProgram):
    """An old graph whose records also hold the row indices of each sparse gradient that the optimizer got."""

    def _observed(self, phase: Phase) -> dict[str, Any]:
        found = super()._observed(phase)
        for effect in phase.effects:
            rows = _rows_of(effect)
            if rows:
                found["combined"][indices_label(effect.writes[0])] = self._tensor(rows)
        return found


class ObservedOldGraph(_RowsObserved):
    """The old graph with as many replicas as it has towers."""


class ObservedReplicas(_RowsObserved, ReplicatedOldGraph):
    """The old graph at another number of replicas."""


class ReferenceProgram(Program):
    """Runs an old graph as the left side of a comparison with a workload.

    A weight that has no gradient in a tower, or is not updated, has zeros, as in a workload.

    Args:
      program: the old graph.
      workload: of `program`.
      names: of the variables.
      batches: the port's batches, for the records' digests.
      specs: the port's variables.
      gradient_factor: factor on the old graph's gradients, where it divides the towers' losses by their
        number and adds the gradients, and the port takes the mean.
      loss_factor: likewise, of the losses.
    """

    side = "legacy"

    def __init__(
        self,
        program: OldGraphProgram,
        workload: LiftedWorkload,
        names: VariableNames,
        batches: Source,
        specs: Sequence[VariableSpec],
        gradient_factor: float = 1.0,
        loss_factor: float = 1.0,
    ) -> None:
        self._program, self._workload, self._names = program, workload, names
        self._batches, self._specs = batches, tuple(specs)
        self._factors = gradient_factor, loss_factor

    @property
    def old_graph(self) -> OldGraphProgram:
        """The old graph itself."""
        return self._program

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._specs

    def describe(self) -> dict[str, str]:
        spare = {"not in the port": ", ".join(self._names.spare)} if self._names.spare else {}
        return {**self._program.describe(), **spare}

    def half_precision(self) -> str:
        return self._program.half_precision()

    def load(self, state: State) -> None:
        self._program.load(self._old_state(state))

    def state(self) -> State:
        return self._port_state(self._program.state())

    def step(self) -> StepRecord:
        record = self._program.step()
        gradient_factor, loss_factor = self._factors
        shapes = {spec.name: spec.shape for spec in self._specs if spec.trainable}
        zeros = {name: np.zeros_like(record.state.weights[self._names.weights[name]]) for name in shapes}
        gradients = [{**zeros, **dense_gradients(tower, shapes)} for tower in record.gradients]
        return dataclasses.replace(
            record,
            digests=[batch_digest(part) for part in self._batches.shards(record.step)],
            losses=[as_scalar(scaled(loss, loss_factor)) for loss in record.losses],
            gradients=[_all_scaled(tower, gradient_factor) for tower in gradients],
            combined={**zeros, **dense_gradients(record.combined, shapes)},
            learning_rate=only_rate(record.learning_rate),
            state=self._port_state(record.state),
            tap_gradients=[
                {name: scaled(g, gradient_factor) for name, g in taps.items()} for taps in record.tap_gradients
            ],
        )

    def close(self) -> None:
        self._program.close()

    def _port_state(self, state: State) -> State:
        values = {**state.weights, **state.slots, **state.statistics, **state.averages}
        return self._names.port_state(state.step, values)

    def _old_state(self, state: State) -> State:
        return self._workload.state(state.step, self._names.old_values(state))


def scaled(value: np.ndarray, factor: float) -> np.ndarray:
    """Returns an array times a factor, in its own dtype; divided by N for 1 / N, as ports divide a part of a mean."""
    if factor == 1.0:
        return value
    if (1.0 / factor).is_integer():
        return np.asarray(value / np.asarray(1.0 / factor, value.dtype))
    return np.asarray(value * np.asarray(factor, value.dtype))


def as_scalar(loss: np.ndarray) -> np.ndarray:
    """Returns a loss of one value as the scalar that it is in a port; another one as it is.

    >>> as_scalar(np.array([[2.5]])).shape, as_scalar(np.array([1.0, 2.0])).shape
    ((), (2,))
    """
    return np.reshape(loss, ()) if np.size(loss) == 1 else loss


def _all_scaled(arrays: Arrays, factor: float) -> Arrays:
    return {name: scaled(value, factor) for name, value in arrays.items()}


def only_rate(rates: np.ndarray) -> np.ndarray:
    """Returns the learning rate of a step as a float32 scalar.

    Raises:
      InputError: the step has several that differ, and a workload has one.
    """
    values = np.unique(rates)
    if len(values) != 1:
        raise InputError(
            f"--against: a step of the old graph has the learning rates {values.tolist()}, a workload has one"
        )
    return np.asarray(values[0], np.float32)


def _rows_of(effect: Effect) -> str:
    """Returns the tensor of the rows that an effect's sparse gradient is for, or ""."""
    return effect.values[effect.gradient_at + 1] if effect.gradient and effect.op.startswith(_SPARSE) else ""
