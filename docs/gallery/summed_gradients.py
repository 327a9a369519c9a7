"""f_sum_clip_after: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
Recognised: GradientDescent, sum of the towers' gradients, clipping global_norm of combined gradients.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * GradientDescent: gradients are summed over towers, not averaged
  * the schedule counts updates (global_step), each of 2 x 8 examples, and no constant of it is 2: if its steps were
    planned for one tower's batch, it changes 2 times too late
"""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from workloads import initializers, optimizers, schedules
from workloads.workload import Clip, InputSpec, Workload


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    x = tf.matmul(batch["net/Placeholder"], scope.get("net/w", (5, 6), initializers.Normal(0.5)))
    x = tf.nn.elu(x)
    x = tf.matmul(x, scope.get("net/v", (6, 2), initializers.Normal(0.5)))
    return tf.nn.l2_loss(x - batch["net/Placeholder_1"])


def learning_rate(step):
    """Returns the learning rate of a step."""
    x = tf.cast(step + 1, tf.float32)
    return 0.2 * tf.minimum(x**-0.5, x * 512**-0.5)


@dataclasses.dataclass(frozen=True)
class LearningRate(schedules.Schedule):
    """The old program's schedule."""

    def __call__(self, step, global_batch):
        return learning_rate(step)


@dataclasses.dataclass(frozen=True)
class FSumClipAfter(Workload):
    """The old program's model and every choice that changes its mathematics."""

    name: str = "f_sum_clip_after"
    global_batch: int = 16
    optimizer: Any = optimizers.GradientDescent()
    learning_rate: Any = LearningRate()
    combine: str = "sum"
    clip: Any = Clip(5.0, where="combined", how="global_norm")

    def inputs(self):
        return {"net/Placeholder": InputSpec((5,)), "net/Placeholder_1": InputSpec((2,))}

    def loss(self, scope, batch):
        return tower_loss(scope, batch)


PORT = FSumClipAfter()
