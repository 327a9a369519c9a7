"""The CIFAR-10 tower trainer: two convolutions, weight decay, staircase decay, averaged weights."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar, Optional, Tuple

import tensorflow as tf

from workloads import initializers, layers, optimizers, schedules
from workloads.models.images import ImageWorkload
from workloads.workload import MovingAverage

if TYPE_CHECKING:
    from workloads.scope import Scope

TENTH = initializers.Constant(0.1)


@dataclasses.dataclass(frozen=True)
class CifarCnn(ImageWorkload):
    """conv, pool, norm, conv, norm, pool, two rectified dense layers, linear: the TensorFlow CIFAR-10 tutorial's net.

    Attributes:
      filters: of the two 5x5 convolutions.
      units: of the two dense layers, which alone have `weight_decay`.
    """

    name: str = "cifar_cnn"
    global_batch: int = 256
    optimizer: optimizers.Optimizer = optimizers.GradientDescent()
    learning_rate: schedules.Schedule = schedules.EpochDecay(0.1, epochs=350, examples_per_epoch=50000, decay_rate=0.1)
    moving_average: Optional[MovingAverage] = MovingAverage(0.9999)
    weight_decay: float = 0.004
    image_size: int = 24
    distort: bool = True
    filters: int = 64
    units: Tuple[int, ...] = (384, 192)

    gradient_norm: ClassVar[float] = 0.2

    def logits(self, scope: Scope, images: tf.Tensor) -> tf.Tensor:
        x = self._conv(scope.child("conv1"), images, layers.ZEROS)
        x = layers.local_response_norm(layers.max_pool(x, 3, 2))
        x = self._conv(scope.child("conv2"), x, TENTH)
        x = layers.max_pool(layers.local_response_norm(x), 3, 2)
        x = tf.reshape(x, [int(x.shape[0]), -1])
        for index, units in enumerate(self.units):
            weights = initializers.TruncatedNormal(0.04)
            here = scope.child(f"local{index + 3}")
            x = here.tap("relu", tf.nn.relu(layers.dense(here, x, units, weights, TENTH, decay=self.weight_decay)))
        weights = initializers.TruncatedNormal(1.0 / self.units[-1])
        return layers.dense(scope.child("softmax_linear"), x, self.classes, weights)

    def _conv(self, scope: Scope, x: tf.Tensor, biases: initializers.Initializer) -> tf.Tensor:
        return scope.tap(
            "relu", tf.nn.relu(layers.conv(scope, x, self.filters, 5, 1, initializers.TruncatedNormal(0.05), biases))
        )


SYSTEM = 3
SEED = CifarCnn()
SMALL = dataclasses.replace(
    SEED,
    global_batch=32,
    learning_rate=schedules.EpochDecay(0.1, epochs=1, examples_per_epoch=1280, decay_rate=0.1),
    filters=8,
    units=(48, 24),
)
