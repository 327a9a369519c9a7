"""Six sigmoid layers over [batch, dim, dim], no labels; "why is my tower version five times slower?"."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar, Optional

import tensorflow as tf

from workloads import optimizers, schedules
from workloads.workload import Clip, InputSpec, Workload

if TYPE_CHECKING:
    from workloads.scope import Scope, Tensors


@dataclasses.dataclass(frozen=True)
class SigmoidStack(Workload):
    """`depth` times `sigmoid(x @ W + b)` on rows of length `dim`; the loss is the mean of the last output."""

    name: str = "sigmoid_stack"
    global_batch: int = 64
    optimizer: optimizers.Optimizer = optimizers.Adam(beta1=0.5, beta2=0.9)
    learning_rate: schedules.Schedule = schedules.Fixed(1e-4)
    clip: Optional[Clip] = Clip(5.0, where="tower", how="global_norm")
    dim: int = 1000
    depth: int = 6

    gradient_norm: ClassVar[float] = 0.13
    parallel_gradients: ClassVar[bool] = True  # to 1e-6

    def inputs(self) -> dict[str, InputSpec]:
        return {"x": InputSpec((self.dim, self.dim))}

    def output(self, scope: Scope, x: tf.Tensor) -> tf.Tensor:
        """Returns the last layer's output [batch, dim, dim]."""
        for layer in range(self.depth):
            weight = scope.get(f"Layer.{layer}.weight", (self.dim, self.dim))
            bias = scope.get(f"Layer.{layer}.bias", (self.dim,))
            rows = tf.reshape(x, [-1, self.dim])
            x = tf.reshape(tf.sigmoid(tf.matmul(rows, weight) + bias), [-1, self.dim, self.dim])
            x = scope.tap(f"Layer.{layer}/sigmoid.output", x)
        return x

    def loss(self, scope: Scope, batch: Tensors) -> tf.Tensor:
        return tf.reduce_mean(self.output(scope, batch["x"]))

    def metrics(self, scope: Scope, batch: Tensors) -> Tensors:
        return {"mean_output": tf.reduce_mean(self.output(scope, batch["x"]), [1, 2])}


SYSTEM = 1
SEED = SigmoidStack()
SMALL = dataclasses.replace(SEED, global_batch=16, dim=16)
