"""An 18-layer residual network on 32x32 images; "how do I get the best throughput from 4 GPUs?"."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar, Tuple

import tensorflow as tf

from workloads import initializers, layers, optimizers, schedules
from workloads.models.images import ImageWorkload

if TYPE_CHECKING:
    from workloads.scope import Scope


@dataclasses.dataclass(frozen=True)
class ResNet18(ImageWorkload):
    """He et al., arXiv:1512.03385, in its CIFAR form: one 3x3 stem, `blocks` residual blocks per stage of `filters`."""

    name: str = "resnet18"
    global_batch: int = 512
    optimizer: optimizers.Optimizer = optimizers.Momentum(0.9)
    learning_rate: schedules.Schedule = schedules.Fixed(0.1)
    filters: Tuple[int, ...] = (16, 32, 64, 128)
    blocks: int = 2

    gradient_norm: ClassVar[float] = 6.0

    def logits(self, scope: Scope, images: tf.Tensor) -> tf.Tensor:
        x = _conv_norm(scope.child("stem"), images, self.filters[0], 3, 1)
        x = scope.tap("stem/relu", tf.nn.relu(x))
        for stage, filters in enumerate(self.filters):
            for block in range(self.blocks):
                stride = 2 if stage > 0 and block == 0 else 1
                x = _residual(scope.child(f"stage{stage}_block{block}"), x, filters, stride)
        features = tf.reduce_mean(x, axis=[1, 2])
        return layers.dense(scope.child("logits"), features, self.classes)


def _residual(scope: Scope, x: tf.Tensor, filters: int, stride: int) -> tf.Tensor:
    y = scope.tap("conv1/relu", tf.nn.relu(_conv_norm(scope.child("conv1"), x, filters, 3, stride)))
    y = _conv_norm(scope.child("conv2"), y, filters, 3, 1)
    if stride != 1 or int(x.shape[-1]) != filters:
        x = _conv_norm(scope.child("shortcut"), x, filters, 1, stride)
    return scope.tap("sum", tf.nn.relu(x + y))


def _conv_norm(scope: Scope, x: tf.Tensor, filters: int, size: int, stride: int) -> tf.Tensor:
    y = layers.batch_norm(scope, layers.conv(scope, x, filters, size, stride, initializers.HeNormal()))
    return scope.tap("output", y)


SYSTEM = 4
SEED = ResNet18()
SMALL = dataclasses.replace(
    SEED, global_batch=32, image_size=16, filters=(4, 8, 8, 16), learning_rate=schedules.Fixed(0.01)
)
