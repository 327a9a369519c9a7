"""Recorder of a Keras 3 model that trains under a strategy: a callback for `fit`, or three calls around any loop.

    recorder = KerasRecorder("port.npz", model, optimizer, to_legacy, strategy, global_batch=64)
    model.fit(dataset, callbacks=[recorder.callback()])          # or, around each step of a loop:
    recorder.begin(); ...; recorder.step(losses); ...; recorder.end()

`keras_step_copies` copies what Keras does not expose, such as each replica's gradients, as it passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from modern.keras_step_copies import KerasStepCopies, updating_optimizer
from workloads.optimizers import KerasClass, known_keras_classes
from workloads.records.writer import Recorder


class _State(NamedTuple):
    """State of the training, {legacy's name: array} of each kind."""

    weights: dict[str, np.ndarray]
    slots: dict[str, np.ndarray]
    statistics: dict[str, np.ndarray]


class KerasRecorder:
    """Recorder of one training run of a Keras model.

    Args:
      path: the recording.
      model: the model, which is built.
      optimizer: the optimizer that trains it. Of a `LossScaleOptimizer` the one that it wraps is recorded.
      to_legacy: function (arrays in the order of `model.trainable_variables`, kind) to {legacy's name: array}; `kind`
        is "weights", "gradients" or a slot's name.
      strategy: the `tf.distribute.Strategy`.
      global_batch: examples of one step.
      statistics: {legacy's name: Keras variable} of batch norm's, or none.
      slots: the optimizer's slots to record; default all that 1.x has too.
      taps: {layer's name: legacy's name of its output}, in the order of the forward pass, to be recorded with the
        gradients to them; or none.
    """

    def __init__(
        self,
        path: str,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        to_legacy: Callable[[list[np.ndarray], str], dict[str, np.ndarray]],
        strategy: tf.distribute.Strategy,
        global_batch: int,
        statistics: Mapping[str, keras.Variable] | Sequence[tuple[str, keras.Variable]] = (),
        slots: Sequence[str] | None = None,
        taps: Mapping[str, str] | None = None,
    ) -> None:
        self._path, self._model, self._applied, self._to_legacy = path, model, optimizer, to_legacy
        self._optimizer = updating_optimizer(optimizer)
        self._strategy, self._global_batch, self._statistics = strategy, global_batch, dict(statistics)
        name = type(self._optimizer).__name__
        known = known_keras_classes().get(name, KerasClass(name, {}))
        self._slots = {slot: known.slots[slot] for slot in (known.slots if slots is None else slots)}
        self._powers = known.powers if self._slots else {}
        self._replicas = strategy.num_replicas_in_sync
        self._recorder: Recorder | None = None
        self._tap_names = dict(taps or {})

    def begin(self) -> None:
        """Taps the model and the optimizer, and writes the state before the first step. Call before the first trace."""
        _order_reads_before_updates()
        if not self._applied.built:
            with self._strategy.scope():
                self._applied.build(self._model.trainable_variables)
        batch = self._global_batch // self._replicas
        self._copies = KerasStepCopies(self._model, self._applied, self._strategy, batch, self._tap_names)
        self._remember_rate()
        about = {"keras": keras.__version__, "optimizer": type(self._optimizer).__name__}
        state = self._state()
        self._recorder = Recorder(
            self._path, self._replicas, global_batch=self._global_batch, about=about, **state._asdict()
        )
        self._recorder.__enter__()

    def step(self, losses: Sequence[float] | None = None, batches: Sequence[Mapping[str, np.ndarray]] = ()) -> None:
        """Records the step that was just taken.

        Args:
          losses: one a replica; default: those that `fit` computed.
          batches: {input: array} of each replica, if they are known.
        """
        assert self._recorder is not None, "begin() comes first"
        state, copies = self._state(), self._copies.read()
        self._recorder.step(
            losses=copies.losses if losses is None else losses,
            gradients=[self._to_legacy(arrays, "gradients") for arrays in copies.gradients],
            combined=self._to_legacy(copies.combined, "gradients"),
            rate=float(self._rate),
            masks=copies.masks,
            batches=batches,
            drift=self._drift(),
            weights=state.weights,
            slots=state.slots,
            statistics=state.statistics,
            taps=[replica.values for replica in copies.taps],
            tap_gradients=[replica.gradients for replica in copies.taps],
        )
        self._remember_rate()

    def end(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """Completes the file, or removes it after an error.

        Args:
          kind: class of the exception that ended the training; None if there was none.
          error: the exception.
          traceback: its traceback.
        """
        assert self._recorder is not None, "begin() comes first"
        self._recorder.__exit__(kind, error, traceback)

    def callback(
        self, batches: Callable[[int], Sequence[Mapping[str, np.ndarray]]] | None = None
    ) -> keras.callbacks.Callback:
        """Returns a callback for `model.fit`; `batches(step)` gives {input: array} of each replica, if it is known."""
        recorder = self

        class Callback(keras.callbacks.Callback):
            def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
                together = getattr(self.model, "steps_per_execution", 1)
                if together != 1:  # Keras calls back once for several steps
                    raise ValueError(
                        f"steps_per_execution: got {together}, must be 1 while a model is recorded: a recording holds "
                        "every step, and Keras shows none between two calls (the steps compute the same)"
                    )
                recorder.begin()
                recorder._copies.copy_loss()

            def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
                recorder.step(batches=batches(batch) if batches else ())

            def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
                recorder.end()

        return Callback()

    def _remember_rate(self) -> None:
        """Keeps the learning rate that the next step will use."""
        self._rate = np.asarray(keras.ops.convert_to_numpy(self._optimizer.learning_rate))

    def _state(self) -> _State:
        weights = self._to_legacy([self._first(v) for v in self._model.trainable_variables], "weights")
        slots: dict[str, Any] = {}
        for slot, attribute in self._slots.items():
            arrays = [self._first(v) for v in getattr(self._optimizer, attribute, [])]
            if arrays:
                named = self._to_legacy(arrays, slot)
                slots.update((f"{name}/{slot}", value) for name, value in named.items())
        for power, attribute in self._powers.items():
            step = float(keras.ops.convert_to_numpy(self._optimizer.iterations)) + 1
            slots[power] = np.asarray(
                getattr(self._optimizer, attribute) ** step, self._model.trainable_variables[0].dtype
            )
        statistics = {name: self._first(variable) for name, variable in self._statistics.items()}
        return _State(weights, slots, statistics)

    def _first(self, variable: keras.Variable) -> np.ndarray:
        return self._strategy.experimental_local_results(variable.value)[0].numpy()

    def _drift(self) -> list[str]:
        """Names of the statistics whose copies differ between replicas."""
        found = []
        for name, variable in self._statistics.items():
            copies = [copy.numpy() for copy in self._strategy.experimental_local_results(variable.value)]
            if any(not np.array_equal(copies[0], copy) for copy in copies[1:]):
                found.append(name)
        return found


def _order_reads_before_updates() -> None:
    """Keeps the order of a weight's read and its update in functions that are traced from now on.

    Grappler's dependency optimizer drops the control edge between them. Where the update does not depend on the read by
    its data, as in a model that is linear in a weight, the forward pass may then read the new weight (TensorFlow
    2.21: in one step of 14 of two dense layers with a linear loss).
    """
    tf.config.optimizer.set_experimental_options({"dependency_optimization": False})
