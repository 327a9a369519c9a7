"""The variables that hold everything that a step changes: mirrored, or one copy that all replicas share."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from workloads.program import STATES, Arrays, State

#: Variables by name.
Variables = dict[str, tf.Variable]


@dataclasses.dataclass(frozen=True, eq=False)
class LocalState:
    """The variables that one replica reads, by kind and name: its own copies, or those that all replicas share.

    Attributes:
      replica: number of the replica, counted in this process.
      step: int64 scalar, the number of the current step.
      weights, slots, statistics, averages: as in `State`.
      updates: whether the replica updates them; of shared ones only the first replica does.
    """

    replica: int
    step: tf.Variable
    weights: Variables
    slots: Variables
    statistics: Variables
    averages: Variables
    updates: bool = True


class MirroredState:
    """Variables that hold a `State`: mirrored, or shared by all replicas.

    Args:
      strategy: the `tf.distribute.Strategy`.
      state: `State` whose values they start with.
      places: {weight or statistic: device}, where the model's layers are on several; slots are with their weights.
      shared_on: device of the one copy that all replicas share; None for a copy on every replica.
      owners: {statistic: replica} of states that one replica has for itself; of others the first copy is read.

    Attributes:
      step: `global_step`.
      weights, slots, statistics, averages: as in `State`, with variables for arrays.
    """

    weights: Variables
    slots: Variables
    statistics: Variables
    averages: Variables

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        state: State,
        places: Mapping[str, str] | None = None,
        shared_on: str | None = None,
        owners: Mapping[str, int] | None = None,
    ) -> None:
        self._strategy, self._places, self._shared_on = strategy, places or {}, shared_on
        self._owners = owners or {}
        with strategy.scope() if shared_on is None else tf.device(shared_on):
            self.step = tf.Variable(state.step, dtype=tf.int64, name="global_step")
            for kind in STATES:
                made: Variables = {}
                setattr(self, kind, made)
                for name, value in getattr(state, kind).items():
                    with self._device_of(kind, name):
                        made[name] = tf.Variable(value, name=_variable_name(kind, name))

    def local(self, replica: int) -> LocalState:
        """The variables that `replica` reads, counted in this process."""
        kinds = {
            kind: {name: self._copy(variable, replica) for name, variable in getattr(self, kind).items()}
            for kind in STATES
        }
        updates = self._shared_on is None or replica == 0
        return LocalState(replica, self._copy(self.step, replica), **kinds, updates=updates)

    def load(self, state: State) -> None:
        """Gives every copy in this process the values of `state`."""
        self._assign(self.step, state.step)
        for kind in STATES:
            variables = getattr(self, kind)
            for name, value in getattr(state, kind).items():
                self._assign(variables[name], value)

    def in_float64(self) -> MirroredState:
        """Returns variables like these in float64, accumulators included, with the same values."""
        state, _ = self.read()
        slots = {name: np.asarray(value, np.float64) for name, value in state.slots.items()}
        wide = dataclasses.replace(state.cast("float64"), slots=slots)
        return MirroredState(self._strategy, wide, self._places, self._shared_on, self._owners)

    def handles(self) -> list[tf.Tensor]:
        """Returns the handles of all copies in this process, in the order of kinds, names and replicas."""
        variables = [self.step, *(variable for kind in STATES for variable in getattr(self, kind).values())]
        local = self._strategy.experimental_local_results
        return [copy.handle for variable in variables for copy in local(variable)]

    def _assign(self, variable: tf.Variable, value: np.ndarray | int) -> None:
        """Assigns to each copy itself: many times as fast as an update through the strategy."""
        for copy in self._strategy.experimental_local_results(variable):
            copy.assign(value)

    def read(self) -> tuple[State, list[str]]:
        """Returns the first replica's `State`, and the names of the variables whose copies disagree."""
        drift: list[str] = []

        def one_copy(name: str, variable: tf.Variable) -> np.ndarray:
            copies = [copy.numpy() for copy in self._strategy.experimental_local_results(variable)]
            if name in self._owners:
                return np.asarray(copies[self._owners[name]])
            if any(copy.tobytes() != copies[0].tobytes() for copy in copies[1:]):
                drift.append(name)
            return np.asarray(copies[0])

        kinds: list[Arrays] = [
            {name: one_copy(name, variable) for name, variable in getattr(self, kind).items()} for kind in STATES
        ]
        return State(int(one_copy("global_step", self.step)), *kinds), drift

    def _device_of(self, kind: str, name: str) -> contextlib.AbstractContextManager[object]:
        """Context that places a variable: on its layer's device; on parameter servers, a slot beside its weight."""
        owner = name.rsplit("/", 1)[0] if kind == "slots" else name
        if owner in self._places:
            return tf.device(self._places[owner])
        weight = self.weights.get(owner) if kind == "slots" else None
        if weight is None or not isinstance(self._strategy, tf.distribute.ParameterServerStrategy):
            return contextlib.nullcontext()
        return self._strategy.extended.colocate_vars_with(weight)

    def _copy(self, variable: tf.Variable, replica: int) -> tf.Variable:
        return self._strategy.experimental_local_results(variable)[replica if self._shared_on is None else 0]


def _variable_name(kind: str, name: str) -> str:
    return f"{kind}/{name}" if kind != "weights" else name
