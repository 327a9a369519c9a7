"""Values inside a Keras model's training step that Keras does not expose, copied into variables as they pass.

Each replica's gradients as they reach the optimizer, the gradients after clipping and reducing, the elements that each
Dropout keeps, the loss that `fit` computes, and the outputs of layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from modern.keras_taps import KerasTaps, TapArrays


class StepCopies(NamedTuple):
    """Copies of the last step's values. Lists of gradients are in the order of the model's trainable variables.

    Attributes:
      losses: each replica's, as `fit` computed it; zeros in another loop.
      gradients: each replica's, before any clipping; of a scaled loss they are divided by its scale.
      combined: that the optimizer got; zeros in a step that a `LossScaleOptimizer` skips, since its gradients overflow.
      masks: each replica's {Dropout layer's name: boolean array, true where kept}; none without such layers.
      taps: each replica's; none without taps.
    """

    losses: list[np.ndarray]
    gradients: list[list[np.ndarray]]
    combined: list[np.ndarray]
    masks: list[dict[str, np.ndarray]]
    taps: list[TapArrays]


class KerasStepCopies:
    """Copies of one training step after the other; make them before the first trace.

    Args:
      model: the model, which is built.
      optimizer: the optimizer that trains it, which is built.
      strategy: the `tf.distribute.Strategy`.
      batch: examples of one replica.
      tap_names: {layer's name: legacy's name of its output}, in the order of the forward pass.
    """

    def __init__(
        self,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        strategy: tf.distribute.Strategy,
        batch: int,
        tap_names: Mapping[str, str],
    ) -> None:
        self._model, self._strategy = model, strategy
        weights = model.trainable_variables
        dropouts = [layer for layer in model.layers if isinstance(layer, keras.layers.Dropout)]
        with strategy.scope():
            self._gradients = [_replica_variable(weight.shape, weight.dtype) for weight in weights]
            self._combined = [_replica_variable(weight.shape, weight.dtype) for weight in weights]
            self._loss = _replica_variable((), weights[0].dtype)
            self._taps = KerasTaps(model, tap_names, batch, _replica_variable) if tap_names else None
            self._masks = {
                layer.name: _replica_variable((batch, *layer.output.shape[1:]), "float32") for layer in dropouts
            }
        self._copy_gradients(optimizer)
        for layer in dropouts:
            self._copy_mask(layer)

    def copy_loss(self) -> None:
        """Copies the loss that `fit` computes from now on."""
        compute = self._model.compute_loss

        def copying(*args: Any, **kwargs: Any) -> tf.Tensor:
            loss = compute(*args, **kwargs)
            self._loss.assign(tf.cast(loss, self._loss.dtype))
            return loss

        self._model.compute_loss = copying

    def read(self) -> StepCopies:
        """Returns the copies that the last step made."""
        local = self._strategy.experimental_local_results
        replicas = range(self._strategy.num_replicas_in_sync)
        masked = replicas if self._masks else ()
        return StepCopies(
            losses=[local(self._loss)[r].numpy() for r in replicas],
            gradients=[[local(copy)[r].numpy() for copy in self._gradients] for r in replicas],
            combined=[local(copy)[0].numpy() for copy in self._combined],
            masks=[{name: local(copy)[r].numpy() > 0 for name, copy in self._masks.items()} for r in masked],
            taps=[] if self._taps is None else [self._taps.read(local, r) for r in replicas],
        )

    def _copy_gradients(self, optimizer: keras.optimizers.Optimizer) -> None:
        updating = updating_optimizer(optimizer)
        apply, reduce = optimizer.apply, updating._all_reduce_sum_gradients

        def copying_apply(grads: Sequence[tf.Tensor], trainable_variables: Any = None) -> Any:
            for copy, combined, gradient in zip(self._gradients, self._combined, grads):
                if updating is optimizer:
                    copy.assign(gradient)
                    continue
                copy.assign(tf.convert_to_tensor(gradient) / tf.cast(optimizer.dynamic_scale.value, gradient.dtype))
                combined.assign(tf.zeros_like(gradient))  # until the optimizer gets one
            return apply(grads, trainable_variables)

        def copying_reduce(grads_and_vars: Any) -> Any:
            reduced = reduce(grads_and_vars)
            for copy, (gradient, _) in zip(self._combined, reduced):
                copy.assign(gradient)
            return reduced

        optimizer.apply, updating._all_reduce_sum_gradients = copying_apply, copying_reduce

    def _copy_mask(self, layer: keras.layers.Dropout) -> None:
        call, mask = layer.call, self._masks[layer.name]

        def copying(inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
            kept = call(inputs, training=training)
            if training:
                mask.assign(tf.cast(tf.not_equal(kept, 0), tf.float32))
            return kept

        layer.call = copying


def updating_optimizer(optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
    """Returns the optimizer that updates the weights: of one that scales the loss, the one that it wraps."""
    return optimizer.inner_optimizer if isinstance(optimizer, keras.optimizers.LossScaleOptimizer) else optimizer


def _replica_variable(shape: Sequence[int], dtype: str) -> tf.Variable:
    """Makes a variable with a value of its own on each replica, for copies of what passes there."""
    return tf.Variable(
        tf.zeros(shape, dtype),
        trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.NONE,
    )
