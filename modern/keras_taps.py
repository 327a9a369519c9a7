"""Outputs of a Keras model's layers and the gradients to them, copied into variables as they pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

#: Makes a variable of a shape and dtype that has a value of its own on each replica.
MakeVariable = Callable[[Sequence[int], str], tf.Variable]


class TapArrays(NamedTuple):
    """Values of taps, and the gradients to them, {legacy's name: array}."""

    values: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]


class KerasTaps:
    """Taps of a model; make them before the first trace.

    Args:
      model: the model, which is built.
      names: {layer's name: legacy's name of the tap}, in the order of the forward pass.
      batch: examples of one replica.
      make_variable: see `MakeVariable`.
    """

    def __init__(self, model: keras.Model, names: Mapping[str, str], batch: int, make_variable: MakeVariable) -> None:
        self._values: dict[str, tf.Variable] = {}
        self._gradients: dict[str, tf.Variable] = {}
        for layer_name, name in names.items():
            layer = model.get_layer(layer_name)
            shape = (batch, *layer.output.shape[1:])
            self._values[name] = make_variable(shape, layer.output.dtype)
            self._gradients[name] = make_variable(shape, layer.output.dtype)
            layer.call = _copying(layer.call, self._values[name], self._gradients[name])

    def read(self, local: Callable[[tf.Variable], Sequence[tf.Variable]], replica: int) -> TapArrays:
        """Returns what passed in the last step on a replica.

        Args:
          local: returns a variable's copies, one a replica.
          replica: number of the replica.
        """
        values, gradients = (
            {name: np.array(local(variable)[replica]) for name, variable in variables.items()}
            for variables in (self._values, self._gradients)
        )
        return TapArrays(values, gradients)


def _copying(call: Callable[..., tf.Tensor], value: tf.Variable, gradient: tf.Variable) -> Callable[..., tf.Tensor]:
    """Returns a layer's function that copies its result into a variable, and the gradient to it into another."""

    @tf.custom_gradient
    def handed_on(result: tf.Tensor) -> Any:
        def copy(upstream: tf.Tensor) -> tf.Tensor:
            gradient.assign(upstream)
            return upstream

        return tf.identity(result), copy

    def tapped(*arguments: Any, **options: Any) -> tf.Tensor:
        result = call(*arguments, **options)
        value.assign(result)
        return handed_on(result)

    return tapped
