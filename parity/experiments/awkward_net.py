"""`AwkwardNet`: a small net with everything that makes float32 gradients hard to compare."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from workloads import initializers, layers, optimizers, schedules
from workloads.workload import InputSpec, Workload

if TYPE_CHECKING:
    from collections.abc import Mapping

    import tensorflow as tf

    from workloads.schedules import Schedule
    from workloads.scope import Scope, Tensors


@dataclasses.dataclass(frozen=True)
class AwkwardNet(Workload):
    """Biases before batch normalization, dead units, many rectifiers, and a weight without a gradient.

    A bias before batch normalization has no effect: its gradient is nothing but rounding, and an optimizer that
    divides by the gradient's size moves it at random.
    """

    name: str = "awkward"
    global_batch: int = 24
    optimizer: optimizers.Optimizer = optimizers.Momentum()
    learning_rate: Schedule = schedules.Fixed(0.125)

    def inputs(self) -> Mapping[str, InputSpec]:
        return {"x": InputSpec((8,)), "labels": InputSpec((), "int", 4)}

    def loss(self, scope: Scope, batch: Tensors) -> tf.Tensor:
        import tensorflow as tf

        x = batch["x"]
        for number in range(4):
            x = layers.dense(scope.child(f"hidden{number}"), x, 32)
            x = tf.nn.relu(layers.batch_norm(scope.child(f"norm{number}"), x))
        dead = tf.nn.relu(layers.dense(scope.child("dead"), x, 8) - 100.0)
        unused = scope.get("unused", (3,), initializers.Constant(1.0))
        logits = layers.dense(scope.child("logits"), tf.concat([x, dead], 1), 4)
        return layers.cross_entropy(logits, batch["labels"]) + 0.0 * tf.reduce_sum(unused)


#: {name: net}, one for each way in which an optimizer treats a gradient of rounding.
AWKWARD = {
    net.name: net
    for net in (
        AwkwardNet("awkward_momentum"),
        AwkwardNet("awkward_adam", optimizer=optimizers.Adam(), learning_rate=schedules.Fixed(2.0**-7)),
        AwkwardNet("awkward_rmsprop", optimizer=optimizers.RMSProp(), learning_rate=schedules.Fixed(2.0**-7)),
    )
}
