"""The strategy's variables: everything a step changes, mirrored on every replica."""

from __future__ import annotations

import contextlib

import numpy as np
import tensorflow as tf

from workloads.program import STATES, State


class MirroredState:
    """Mirrored variables that hold a `State`.

    Args:
      strategy: the `tf.distribute.Strategy`.
      state: `State` whose values they start with.
      places: {weight or statistic: device}, where the model's layers are on several; slots are with their weights.
    """

    def __init__(self, strategy, state, places=None):
        self._strategy, self._places = strategy, places or {}
        with strategy.scope():
            self.step = tf.Variable(state.step, dtype=tf.int64, name="global_step")
            for kind in STATES:
                made = {}
                setattr(self, kind, made)
                for name, value in getattr(state, kind).items():
                    with self._beside(kind, name):
                        made[name] = tf.Variable(value, name=_name(kind, name))

    def _beside(self, kind, name):
        """Where a variable is made: on its layer's device; a slot with its weight, where variables are in places."""
        owner = name.rsplit("/", 1)[0] if kind == "slots" else name
        if owner in self._places:
            return tf.device(self._places[owner])
        weight = self.weights.get(name.rsplit("/", 1)[0]) if kind == "slots" else None
        if weight is None or not isinstance(self._strategy, tf.distribute.ParameterServerStrategy):
            return contextlib.nullcontext()
        return self._strategy.extended.colocate_vars_with(weight)

    def local(self, replica):
        """A `LocalState`: the copies that belong to `replica`, counted in this process."""
        return LocalState(
            replica,
            self._copy(self.step, replica),
            *[
                {name: self._copy(variable, replica) for name, variable in getattr(self, kind).items()}
                for kind in STATES
            ],
        )

    def load(self, state):
        """Gives every copy the values of `state`."""
        self.step.assign(state.step)
        for kind in STATES:
            variables = getattr(self, kind)
            for name, value in getattr(state, kind).items():
                variables[name].assign(value)

    def read(self):
        """(`State` of the first replica, names of variables whose copies disagree)."""
        drift = []
        kinds = [{name: self._first(name, v, drift) for name, v in getattr(self, kind).items()} for kind in STATES]
        return State(int(self._first("global_step", self.step, drift)), *kinds), drift

    def _first(self, name, variable, drift):
        copies = [copy.numpy() for copy in self._strategy.experimental_local_results(variable)]
        if any(copy.tobytes() != copies[0].tobytes() for copy in copies[1:]):
            drift.append(name)
        return np.asarray(copies[0])

    def _copy(self, variable, replica):
        return self._strategy.experimental_local_results(variable)[replica]


class LocalState:
    """One replica's own variables, by kind and name."""

    def __init__(self, replica, step, weights, slots, statistics, averages):
        self.replica = replica
        self.step = step
        self.weights = weights
        self.slots = slots
        self.statistics = statistics
        self.averages = averages


def _name(kind, name):
    return f"{kind}/{name}" if kind != "weights" else name
