"""The workload that `test_port.py` guards: a small classifier, as a team keeps it beside its port."""

import dataclasses
from typing import Any

import tensorflow as tf

from workloads import layers, optimizers, schedules
from workloads.workload import InputSpec, Workload


@dataclasses.dataclass(frozen=True)
class Classifier(Workload):
    name: str = "classifier"
    global_batch: int = 16
    optimizer: optimizers.Optimizer = optimizers.Momentum(0.9)
    learning_rate: Any = schedules.Fixed(0.01)
    hidden: int = 16

    def inputs(self):
        return {"pixels": InputSpec((8,)), "labels": InputSpec((), "int", classes=4)}

    def loss(self, scope, batch):
        x = tf.nn.relu(layers.dense(scope.child("hidden"), batch["pixels"], self.hidden))
        return layers.cross_entropy(layers.dense(scope.child("output"), x, 4), batch["labels"])


CLASSIFIER = Classifier()
