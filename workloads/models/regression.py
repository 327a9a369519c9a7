"""A fully connected regression, the smallest complete example of data parallelism."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar, Optional, Tuple

import numpy as np
import tensorflow as tf

from workloads import initializers, layers, optimizers, schedules
from workloads.workload import InputSpec, Workload

if TYPE_CHECKING:
    from workloads.scope import Scope, Tensors


@dataclasses.dataclass(frozen=True)
class Regression(Workload):
    """`relu(x @ w + b)` through `hidden`, a linear output, and the squared difference from 2x + 1.

    The output [batch, 1] broadcasts against the target [batch, features], as in the write-up.

    Attributes:
      weight_stddev: of the truncated normal that draws the hidden weights; 1.0 is the write-up's (its loss
        starts at 2.7e9, measured), None scales it to 1 / sqrt(fan_in), which trains.
      last_weight: constant of the last weight; the write-up's is one.
    """

    name: str = "regression"
    global_batch: int = 2000
    optimizer: optimizers.Optimizer = optimizers.Adam()
    learning_rate: schedules.Schedule = schedules.Fixed(1e-3)
    features: int = 600
    hidden: Tuple[int, ...] = (512, 128, 128)
    weight_stddev: Optional[float] = None
    last_weight: float = 1.0

    gradient_norm: ClassVar[float] = 20.0

    def inputs(self) -> dict[str, InputSpec]:
        return {"x": InputSpec((self.features,)), "target": InputSpec((self.features,))}

    def examples(self, rng: np.random.RandomState, count: int) -> dict[str, np.ndarray]:
        x = np.asarray(rng.random_sample((count, self.features)), np.float32)
        return {"x": x, "target": 2 * x + 1}

    def squared_errors(self, scope: Scope, batch: Tensors) -> tf.Tensor:
        """Returns [batch, features]."""
        x = batch["x"]
        for index, units in enumerate(self.hidden):
            stddev = float(int(x.shape[-1])) ** -0.5 if self.weight_stddev is None else self.weight_stddev
            weights = initializers.TruncatedNormal(stddev)
            here = scope.child(f"affine{index}")
            x = here.tap("relu", tf.nn.relu(layers.dense(here, x, units, weights, bias_shape=())))
        last_weights = initializers.Constant(self.last_weight)
        output = layers.dense(scope.child("affine_last"), x, 1, last_weights, bias_shape=())
        return tf.square(output - batch["target"])

    def loss(self, scope: Scope, batch: Tensors) -> tf.Tensor:
        return tf.reduce_mean(self.squared_errors(scope, batch))

    def metrics(self, scope: Scope, batch: Tensors) -> Tensors:
        return {"squared_error": tf.reduce_mean(self.squared_errors(scope, batch), 1)}


SYSTEM = 2
SEED = Regression()
SEED_SPLIT = dataclasses.replace(SEED, optimizer=optimizers.GradientDescent(), learning_rate=schedules.Fixed(1e-2))
SEED_UNSCALED = dataclasses.replace(SEED, weight_stddev=1.0)
SMALL = dataclasses.replace(SEED, global_batch=64, features=60, hidden=(48, 32, 32))
