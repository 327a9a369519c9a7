"""A stack of LSTM layers, data parallel or a stage a layer; the write-up gives the stack and no figures."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar, Optional

import tensorflow as tf

from workloads import layers, optimizers, schedules
from workloads.workload import Clip, InputSpec, Workload

if TYPE_CHECKING:
    from workloads.scope import Scope, Tensors


@dataclasses.dataclass(frozen=True)
class StackedLstm(Workload):
    """`depth` LSTM layers of `units` over `time` steps, dropout between them; classifies the sequence."""

    name: str = "stacked_lstm"
    global_batch: int = 64
    optimizer: optimizers.Optimizer = optimizers.RMSProp(decay=0.9, momentum=0.9)
    learning_rate: schedules.Schedule = schedules.Fixed(1e-3)
    clip: Optional[Clip] = Clip(1.0, where="combined", how="global_norm")
    depth: int = 6
    units: int = 128
    time: int = 20
    features: int = 32
    classes: int = 10
    dropout_rate: float = 0.1

    gradient_norm: ClassVar[float] = 0.24

    def inputs(self) -> dict[str, InputSpec]:
        return {"x": InputSpec((self.time, self.features)), "labels": InputSpec((), "int", self.classes)}

    def logits(self, scope: Scope, x: tf.Tensor) -> tf.Tensor:
        """Returns [batch, classes], of sequences [batch, time, features]."""
        for layer in range(self.depth):
            with scope.pipeline_stage(layer, self.depth):
                here = scope.child(f"lstm{layer}")
                x = layers.dropout(here, layers.lstm_sequence(here, x, self.units), self.dropout_rate)
        with scope.pipeline_stage(self.depth - 1, self.depth):
            return layers.dense(scope.child("logits"), x[:, -1], self.classes)

    def loss(self, scope: Scope, batch: Tensors) -> tf.Tensor:
        logits = self.logits(scope, batch["x"])
        with scope.pipeline_stage(self.depth - 1, self.depth):
            return layers.cross_entropy(logits, batch["labels"])

    def metrics(self, scope: Scope, batch: Tensors) -> Tensors:
        return layers.classification_metrics(self.logits(scope, batch["x"]), batch["labels"])


SYSTEM = 5
SEED = StackedLstm()
SMALL = dataclasses.replace(SEED, global_batch=16, depth=3, units=16, time=6, features=8)
