"""Records a Keras 3 model while it trains under a strategy: a callback for `fit`, two calls for a loop of one's own.

    recorder = KerasRecorder("port.npz", model, optimizer, to_legacy, strategy, global_batch=64)
    model.fit(dataset, callbacks=[recorder.callback()])          # or, around each step of a loop:
    recorder.begin(); ...; recorder.step(losses); ...; recorder.end()

What Keras does not show is tapped on its way: each replica's gradients as they reach the optimizer, what the optimizer
gets after clipping and reducing, and what each Dropout keeps.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from workloads.optimizers import KerasClass, known_keras_classes
from workloads.records.writer import Recorder


class KerasRecorder:
    """
    Args:
      path: the recording.
      model, optimizer: as they train; the model is built.
      to_legacy: function (arrays in the order of `model.trainable_variables`, kind) to {legacy's name: array}; `kind`
        is "weights", "gradients" or a slot's name.
      strategy: the `tf.distribute.Strategy`.
      global_batch: examples of one step.
      statistics: {legacy's name: Keras variable} of batch norm's, or none.
      slots: the optimizer's slots to record; default all that 1.x has too.
    """

    def __init__(self, path, model, optimizer, to_legacy, strategy, global_batch, statistics=(), slots=None):
        self._path, self._model, self._optimizer, self._to_legacy = path, model, optimizer, to_legacy
        self._strategy, self._global_batch, self._statistics = strategy, global_batch, dict(statistics)
        name = type(optimizer).__name__
        known = known_keras_classes().get(name, KerasClass(name, {}))
        self._slots = {slot: known.slots[slot] for slot in (known.slots if slots is None else slots)}
        self._powers = known.powers if self._slots else {}
        self._replicas = strategy.num_replicas_in_sync
        self._recorder = None

    def begin(self):
        """Taps the model and the optimizer, and writes the state before the first step. Call before the first trace."""
        with self._strategy.scope():
            if not self._optimizer.built:
                self._optimizer.build(self._model.trainable_variables)
            make = self._tap
            self._raw = [make(v.shape, v.dtype) for v in self._model.trainable_variables]
            self._combined = [make(v.shape, v.dtype) for v in self._model.trainable_variables]
            self._loss = make((), "float32")
            self._masks = {
                layer.name: make((self._global_batch // self._replicas,) + tuple(layer.output.shape[1:]), "float32")
                for layer in self._model.layers
                if isinstance(layer, keras.layers.Dropout)
            }
        self._tap_optimizer()
        for layer in self._model.layers:
            if layer.name in self._masks:
                self._tap_dropout(layer)
        about = {"keras": keras.__version__, "optimizer": type(self._optimizer).__name__}
        state = self._state()
        self._recorder = Recorder(self._path, self._replicas, global_batch=self._global_batch, about=about, **state)
        self._recorder.__enter__()

    def step(self, losses=None, batches=()):
        """Records what the step just taken left behind; `losses` one a replica, default what `fit` computed."""
        local = self._strategy.experimental_local_results
        each = range(self._replicas)
        raw = [[local(tap)[r].numpy() for tap in self._raw] for r in each]
        losses = [local(self._loss)[r].numpy() for r in each] if losses is None else losses
        self._recorder.step(
            losses=losses,
            gradients=[self._to_legacy(arrays, "gradients") for arrays in raw],
            combined=self._to_legacy([local(tap)[0].numpy() for tap in self._combined], "gradients"),
            rate=float(self._rate),
            masks=[{name: local(tap)[r].numpy() > 0 for name, tap in self._masks.items()} for r in each]
            if self._masks
            else (),
            batches=batches,
            drift=self._drift(),
            **self._state(),
        )
        self._remember_rate()

    def end(self, *error):
        """Completes the file; with an error, leaves none."""
        self._recorder.__exit__(*(error or (None, None, None)))

    def callback(self, batches=None):
        """For `model.fit`. `batches(step)` gives the step's batches over replicas, {name: array}, if they are known."""
        recorder = self

        class Callback(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                recorder.begin()
                recorder._tap_loss()

            def on_train_batch_end(self, batch, logs=None):
                recorder.step(batches=batches(batch) if batches else ())

            def on_train_end(self, logs=None):
                recorder.end()

        return Callback()

    def _tap(self, shape, dtype):
        return tf.Variable(
            tf.zeros(shape, dtype),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.NONE,
        )

    def _tap_optimizer(self):
        optimizer, apply, reduce = self._optimizer, self._optimizer.apply, self._optimizer._all_reduce_sum_gradients
        self._remember_rate()

        def tapped_apply(grads, trainable_variables=None):
            for tap, gradient in zip(self._raw, grads):
                tap.assign(gradient)
            return apply(grads, trainable_variables)

        def tapped_reduce(grads_and_vars):
            reduced = reduce(grads_and_vars)
            for tap, (gradient, _) in zip(self._combined, reduced):
                tap.assign(gradient)
            return reduced

        optimizer.apply, optimizer._all_reduce_sum_gradients = tapped_apply, tapped_reduce

    def _tap_loss(self):
        compute = self._model.compute_loss

        def tapped(*args, **kwargs):
            loss = compute(*args, **kwargs)
            self._loss.assign(loss)
            return loss

        self._model.compute_loss = tapped

    def _tap_dropout(self, layer):
        call, tap = layer.call, self._masks[layer.name]

        def tapped(inputs, training=False):
            kept = call(inputs, training=training)
            if training:
                tap.assign(tf.cast(tf.not_equal(kept, 0), tf.float32))
            return kept

        layer.call = tapped

    def _remember_rate(self):
        """The rate that the next step will use."""
        self._rate = np.asarray(keras.ops.convert_to_numpy(self._optimizer.learning_rate))

    def _state(self):
        weights = self._to_legacy([self._first(v) for v in self._model.trainable_variables], "weights")
        slots = {}
        for slot, attribute in self._slots.items():
            arrays = [self._first(v) for v in getattr(self._optimizer, attribute, [])]
            if arrays:
                named = self._to_legacy(arrays, slot)
                slots.update((f"{name}/{slot}", value) for name, value in named.items())
        for power, attribute in self._powers.items():
            step = float(keras.ops.convert_to_numpy(self._optimizer.iterations)) + 1
            slots[power] = np.float32(getattr(self._optimizer, attribute) ** step)
        statistics = {name: self._first(variable) for name, variable in self._statistics.items()}
        return {"weights": weights, "slots": slots, "statistics": statistics}

    def _first(self, variable):
        return self._strategy.experimental_local_results(variable.value)[0].numpy()

    def _drift(self):
        found = []
        for name, variable in self._statistics.items():
            copies = [copy.numpy() for copy in self._strategy.experimental_local_results(variable.value)]
            if any(not np.array_equal(copies[0], copy) for copy in copies[1:]):
                found.append(name)
        return found
